import {
  type ChangeAuthor,
  DAY_MS,
  MAX_ACTIVE_SILENCES,
  MAX_SILENCE_DAYS,
  otherVersion,
  type RoutingDocument,
  type Silence,
  type SilenceDraft,
  type StoredRouting,
  timeOrderedId,
} from '@agentlens/contracts';
import { lockUntilEnd, recordChanges, type SilencesTable, type Tables } from '@agentlens/database';
import { matchesEverything, parseMatchers, readRouting } from '@agentlens/routing';
import type { Kysely, Selectable, Transaction } from 'kysely';
import { type CommandAnswer, refusal } from '../answer.ts';
import { readChannels } from '../channels/channels.repository.ts';
import { joinGroups } from './alert-routing.ts';
import { ROUTING_LOCK } from './routing-state.ts';

type Tx = Transaction<Tables>;

interface RoutesDraft {
  readonly tenantId: string;
  readonly document: RoutingDocument;
  readonly author?: ChangeAuthor | undefined;
  readonly by: string;
  readonly ifVersion?: number | undefined;
}

/** Alerts that are placed again when the routes change. */
const MAX_MOVED = 50_000;

/** Writer of `routing_documents`. */
export class RoutingDocuments {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: () => number,
    private readonly onChanged: () => void,
  ) {}

  async set({ tenantId, document, author, by, ifVersion }: RoutesDraft): Promise<CommandAnswer<StoredRouting>> {
    const at = new Date(this.now()).toISOString();
    const answer = await this.db.transaction().execute(async (tx): Promise<CommandAnswer<StoredRouting>> => {
      await lockUntilEnd(tx, ROUTING_LOCK, tenantId);
      const before = await newest(tx, tenantId);
      const current = before?.version ?? 0;
      if (ifVersion !== undefined && ifVersion !== current) return otherVersion('routes', ifVersion, current);
      const channels = new Set((await readChannels(tx, tenantId)).map(({ channel_id }) => channel_id));
      const { tree, problems } = readRouting(document, channels);
      if (problems.length > 0) {
        const details = problems.slice(0, 50);
        return { ok: false, problem: { error: 'The routes cannot be saved', status: 422, details: [...details] } };
      }
      const version = current + 1;
      const row = { tenant_id: tenantId, version, body: JSON.stringify(document), saved_by: by, saved_at: at };
      await tx.insertInto('routing_documents').values(row).execute();
      await recordChanges(tx, [
        { tenantId, at, kind: 'routing.changed', targetId: 'routes', author, before: before?.body, after: document },
      ]);
      await this.#move(tx, tenantId, tree, at);
      return { ok: true, value: { version, savedBy: by, savedAt: at, document } };
    });
    if (answer.ok) this.onChanged();
    return answer;
  }

  /** Places every alert that fires by the new routes. Groups without a route end what they have shown. */
  async #move(tx: Tx, tenantId: string, tree: Parameters<typeof joinGroups>[1], at: string): Promise<void> {
    await tx
      .selectFrom('notice_groups')
      .select('group_id')
      .where('tenant_id', '=', tenantId)
      .orderBy('group_id')
      .forUpdate()
      .execute();
    await tx.deleteFrom('notice_members').where('tenant_id', '=', tenantId).execute();
    const firing = await tx
      .selectFrom('alerts')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('status', '=', 'pending')
      .where('kind', '<>', 'approval')
      .orderBy('created_at', 'desc')
      .limit(MAX_MOVED)
      .execute();
    for (let from = 0; from < firing.length; from += 500)
      await joinGroups(tx, tree, firing.slice(from, from + 500), at);
    const gone = [
      ...new Set(
        (
          await tx.selectFrom('notice_groups').select('route_id').distinct().where('tenant_id', '=', tenantId).execute()
        ).map(({ route_id }) => route_id),
      ),
    ];
    for (const routeId of gone) {
      const channels = tree.routes.get(routeId)?.channels ?? [];
      const stale = tx
        .updateTable('notice_groups')
        .set({ due_at: at })
        .where('tenant_id', '=', tenantId)
        .where('route_id', '=', routeId);
      await (channels.length === 0 ? stale : stale.where('channel_id', 'not in', [...channels])).execute();
    }
  }
}

function newest(tx: Tx, tenantId: string) {
  return tx
    .selectFrom('routing_documents')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
}

interface NewSilence {
  readonly tenantId: string;
  readonly draft: SilenceDraft;
  readonly by: string;
  readonly author?: ChangeAuthor | undefined;
}

interface SilenceRef {
  readonly tenantId: string;
  readonly silenceId: string;
  readonly author?: ChangeAuthor | undefined;
}

/** Writer of `silences`. A silence stops notices, never states or enforcement, and an ended one never returns. */
export class Silences {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: () => number,
  ) {}

  create({ tenantId, draft, by, author }: NewSilence): Promise<CommandAnswer<Silence>> {
    const nowMs = this.now();
    const at = new Date(nowMs).toISOString();
    const { startsAt = at, endsAt, comment, all } = draft;
    const { matchers, messages } = parseMatchers(draft.matchers);
    const wrong = (path: string, message: string) =>
      Promise.resolve<CommandAnswer<Silence>>({
        ok: false,
        problem: { error: 'The silence cannot be created', status: 422, details: [{ path, message }] },
      });
    const [message] = messages;
    if (message !== undefined) return wrong('matchers', message);
    if (endsAt <= startsAt || endsAt <= at) return wrong('endsAt', 'must be after the start and after now');
    if (Date.parse(endsAt) - nowMs > MAX_SILENCE_DAYS * DAY_MS)
      return wrong('endsAt', `must be at most ${MAX_SILENCE_DAYS} days ahead`);
    if (!all && matchesEverything(matchers))
      return wrong('matchers', 'cover every alert; set "all": true if that is meant');
    return this.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'silences', tenantId);
      const { count } = await tx
        .selectFrom('silences')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('tenant_id', '=', tenantId)
        .where('ends_at', '>', at)
        .executeTakeFirstOrThrow();
      if (Number(count) >= MAX_ACTIVE_SILENCES)
        return refusal(
          422,
          `A tenant has at most ${MAX_ACTIVE_SILENCES} active silences`,
          'End one that is no longer needed.',
        );
      const row = {
        ...{ tenant_id: tenantId, silence_id: timeOrderedId(nowMs), matchers: JSON.stringify(draft.matchers) },
        ...{ starts_at: startsAt, ends_at: endsAt, comment, created_by: by, created_at: at },
      };
      await tx.insertInto('silences').values(row).execute();
      const silence = silenceFromRow({ ...row, matchers: draft.matchers }, nowMs);
      await recordChanges(tx, [
        { tenantId, at, kind: 'silence.created', targetId: silence.id, author, reason: comment, after: silence },
      ]);
      return { ok: true, value: silence };
    });
  }

  /** Ends a silence now. Ending it again gives the same answer. */
  end({ tenantId, silenceId, author }: SilenceRef): Promise<CommandAnswer<Silence>> {
    const nowMs = this.now();
    const at = new Date(nowMs).toISOString();
    return this.db.transaction().execute(async (tx) => {
      const row = await tx
        .selectFrom('silences')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('silence_id', '=', silenceId)
        .forUpdate()
        .executeTakeFirst();
      if (row === undefined) return refusal(404, 'Silence not found');
      if (row.ends_at <= at) return { ok: true, value: silenceFromRow(row, nowMs) };
      const ended = { ...row, ends_at: at };
      await tx
        .updateTable('silences')
        .set({ ends_at: at })
        .where('tenant_id', '=', tenantId)
        .where('silence_id', '=', silenceId)
        .execute();
      await recordChanges(tx, [
        { tenantId, at, kind: 'silence.ended', targetId: silenceId, author, before: silenceFromRow(row, nowMs) },
      ]);
      return { ok: true, value: silenceFromRow(ended, nowMs) };
    });
  }
}

function silenceFromRow(row: Selectable<SilencesTable>, nowMs: number): Silence {
  const { silence_id: id, matchers, starts_at: startsAt, ends_at: endsAt, comment, created_by: by } = row;
  const state = Date.parse(endsAt) <= nowMs ? 'ended' : Date.parse(startsAt) <= nowMs ? 'active' : 'pending';
  return { id, matchers, startsAt, endsAt, comment, by, state };
}
