import { isDeepStrictEqual } from 'node:util';
import {
  type ChangeAuthor,
  type ChannelConfig,
  type ChannelDraft,
  type ChannelView,
  MAX_CHANNELS,
  otherVersion,
  RoutingDocument,
  timeOrderedId,
} from '@agentlens/contracts';
import { lockUntilEnd, recordChanges, type Tables } from '@agentlens/database';
import { type EgressPolicy, refuseAddress } from '@agentlens/egress';
import type { SecretBox } from '@agentlens/platform';
import { type Kysely, sql, type Transaction } from 'kysely';
import { type CommandAnswer, refusal } from '../answer.ts';
import { type ChannelKinds, openConfig, sealConfig } from './channel-kinds.ts';
import {
  type ChannelRow,
  channelDestination,
  kindOf,
  parseConfig,
  readChannel,
  readChannels,
  recipientsOf,
} from './channels.repository.ts';
import { queueNotices } from './notice-queue.ts';

type Tx = Transaction<Tables>;

interface ChannelsDependencies {
  readonly db: Kysely<Tables>;
  readonly secrets: SecretBox;
  readonly egressPolicy: EgressPolicy;
  readonly kinds: ChannelKinds;
  readonly now: () => number;
  /** Called after a commit that queued a delivery. */
  readonly onQueued: () => void;
}

interface ChannelRef {
  readonly tenantId: string;
  readonly channelId: string;
  readonly author?: ChangeAuthor | undefined;
  readonly ifVersion?: number | undefined;
}

const NOT_FOUND = refusal(404, 'Channel not found');
const SHOWS_OPEN = refusal(
  409,
  'The receiver of this channel still shows alerts as open',
  'Route them to another channel and wait for their ends. To give them up, switch the channel off first.',
);
/** A notice goes through at most so many fallbacks. */
const MAX_CHAIN = 3;

/** Writer of `channels`. */
export class Channels {
  constructor(private readonly dependencies: ChannelsDependencies) {}

  set({
    tenantId,
    channelId,
    draft,
    author,
    ifVersion,
  }: ChannelRef & { readonly draft: ChannelDraft }): Promise<CommandAnswer<ChannelView>> {
    const { db, now } = this.dependencies;
    const at = new Date(now()).toISOString();
    return db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'channels', tenantId);
      const rows = await readChannels(tx, tenantId);
      const before = rows.find(({ channel_id }) => channel_id === channelId);
      const current = before?.version ?? 0;
      if (ifVersion !== undefined && ifVersion !== current) return otherVersion('channel', ifVersion, current);
      if (before === undefined && rows.length >= MAX_CHANNELS)
        return refusal(422, `A tenant has at most ${MAX_CHANNELS} channels`, 'Delete one that is no longer needed.');
      if (before === undefined && draft.config === undefined) return wrong('config', 'is required for a new channel');
      const refused = this.#refuseAddress(draft.config) ?? refuseFallback(rows, channelId, draft.fallback);
      if (refused !== null) return refused;
      if (before?.enabled === true && draft.enabled && this.#isOtherReceiver(before, draft.config)) {
        if (await owesEnds(tx, tenantId, channelId)) return SHOWS_OPEN;
      }
      const row = {
        ...this.#row(tenantId, channelId, draft, before),
        version: current + 1,
        updated_at: at,
        created_at: before?.created_at ?? at,
      };
      const values = { ...row, config: JSON.stringify(row.config) };
      await tx
        .insertInto('channels')
        .values(values)
        .onConflict((conflict) => conflict.columns(['tenant_id', 'channel_id']).doUpdateSet(values))
        .execute();
      await enableDestination(tx, tenantId, channelId);
      const kind = before === undefined ? 'channel.created' : 'channel.changed';
      await recordChanges(tx, [
        { tenantId, at, kind, targetId: channelId, author, before: before && shownOf(before), after: shownOf(row) },
      ]);
      return { ok: true, value: viewOf(row) };
    });
  }

  delete({
    tenantId,
    channelId,
    author,
    ifVersion,
  }: ChannelRef): Promise<CommandAnswer<{ id: string; deleted: true }>> {
    const { db, now } = this.dependencies;
    const at = new Date(now()).toISOString();
    return db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'channels', tenantId);
      await lockUntilEnd(tx, 'routing', tenantId);
      const row = await readChannel(tx, tenantId, channelId);
      if (row === undefined) return NOT_FOUND;
      if (ifVersion !== undefined && ifVersion !== row.version) return otherVersion('channel', ifVersion, row.version);
      const users = await usersOf(tx, tenantId, channelId);
      if (users.length > 0) {
        const details = users.map((message) => ({ path: 'id', message }));
        return {
          ok: false,
          problem: { error: 'The channel is in use', status: 409, details, hint: 'Remove it there first.' },
        };
      }
      if (row.enabled && (await owesEnds(tx, tenantId, channelId))) return SHOWS_OPEN;
      await tx.deleteFrom('channels').where('tenant_id', '=', tenantId).where('channel_id', '=', channelId).execute();
      await tx
        .updateTable('deliveries')
        .set({
          result: 'failed',
          detail: 'the channel was deleted',
          settled_at: at,
          next_attempt_at: null,
          lease_id: null,
          lease_until: null,
        })
        .where('tenant_id', '=', tenantId)
        .where('channel_id', '=', channelId)
        .where('settled_at', 'is', null)
        .execute();
      await recordChanges(tx, [
        { tenantId, at, kind: 'channel.deleted', targetId: channelId, author, before: shownOf(row) },
      ]);
      return { ok: true, value: { id: channelId, deleted: true } };
    });
  }

  /** Sends a test the way every notice goes: queue, breaker, renderer. */
  async test({ tenantId, channelId }: ChannelRef): Promise<CommandAnswer<{ deliveryIds: string[] }>> {
    const { db, now, onQueued } = this.dependencies;
    const nowMs = now();
    const answer = await db.transaction().execute(async (tx): Promise<CommandAnswer<{ deliveryIds: string[] }>> => {
      const row = await readChannel(tx, tenantId, channelId);
      if (row === undefined) return NOT_FOUND;
      await enableDestination(tx, tenantId, channelId);
      const id = timeOrderedId(nowMs);
      const notices = recipientsOf(row).map((recipient) => ({
        ...{ tenantId, channelId, reason: 'test' as const, route: '', groupId: null, group: {}, recipient },
        ...{ orderKey: JSON.stringify([channelId, 'test', id, recipient ?? '']), firing: [], resolved: [], everyMs: 0 },
        about: { alertId: id, ruleId: '', agentId: '' },
      }));
      return { ok: true, value: { deliveryIds: await queueNotices(tx, notices, nowMs) } };
    });
    if (answer.ok) onQueued();
    return answer;
  }

  #row(tenantId: string, channelId: string, draft: ChannelDraft, before: ChannelRow | undefined) {
    const { kinds, secrets } = this.dependencies;
    const shared = {
      tenant_id: tenantId,
      channel_id: channelId,
      name: draft.name ?? null,
      fallback: draft.fallback ?? null,
      enabled: draft.enabled,
    };
    const { config } = draft;
    if (config === undefined) {
      if (before === undefined) throw new Error('a new channel has a config');
      return { ...shared, kind: before.kind, config: before.config, target: before.target };
    }
    const module = kinds.find(config.kind);
    const sealed = sealConfig(secrets, module, { tenantId, channelId }, config);
    return { ...shared, kind: config.kind as string, config: sealed, target: module.target(config) };
  }

  /** Whether incidents of the old receiver could not be ended any more. */
  #isOtherReceiver(before: ChannelRow, config: ChannelConfig | undefined): boolean {
    const { kinds, secrets } = this.dependencies;
    const module = kinds.find(kindOf(before));
    if (config === undefined || module.shows !== 'single') return false;
    const ids = { tenantId: before.tenant_id, channelId: before.channel_id };
    try {
      return !isDeepStrictEqual(parseConfig(openConfig(secrets, module, ids, before.config)), config);
    } catch {
      // What cannot be opened ends no incident either, and has to be replaced.
      return false;
    }
  }

  #refuseAddress(config: ChannelConfig | undefined): CommandAnswer<never> | null {
    if (config === undefined) return null;
    const address = this.dependencies.kinds.find(config.kind).address(config);
    const message = address === null ? null : refuseAddress(address, this.dependencies.egressPolicy);
    return message === null ? null : wrong('config.url', message);
  }
}

function wrong(path: string, message: string): CommandAnswer<never> {
  return { ok: false, problem: { error: 'Validation failed', status: 400, details: [{ path, message }] } };
}

function refuseFallback(
  rows: readonly ChannelRow[],
  channelId: string,
  fallback: string | undefined,
): CommandAnswer<never> | null {
  const next = new Map(rows.map((row) => [row.channel_id, row.fallback]));
  const chain = [channelId];
  for (let at: string | null | undefined = fallback; at !== undefined && at !== null; at = next.get(at)) {
    if (!next.has(at)) return wrong('fallback', `there is no channel "${at}"`);
    if (chain.includes(at)) return wrong('fallback', 'must not lead back to this channel');
    chain.push(at);
    if (chain.length > MAX_CHAIN) return wrong('fallback', `leads through more than ${MAX_CHAIN} channels`);
  }
  return null;
}

/** Where a channel is named, for people. */
async function usersOf(tx: Tx, tenantId: string, channelId: string): Promise<string[]> {
  const document = await tx
    .selectFrom('routing_documents')
    .select('body')
    .where('tenant_id', '=', tenantId)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
  const stored = document === undefined ? undefined : RoutingDocument.safeParse(document.body);
  if (stored?.success === false) return ['the routes cannot be read and may lead there; save them again first'];
  const routes = stored?.data.routes ?? [];
  const naming = routes.filter(
    ({ channels = [], escalate = [] }) =>
      channels.includes(channelId) || escalate.some((step) => step.channels.includes(channelId)),
  );
  const fallbacks = (await readChannels(tx, tenantId)).filter(({ fallback }) => fallback === channelId);
  return [
    ...naming.map(({ id }) => `the route "${id}" leads there`),
    ...fallbacks.map(({ channel_id }) => `it is the fallback of "${channel_id}"`),
  ];
}

/** Whether the receiver has something open that only this channel can end, such as an incident. */
async function owesEnds(tx: Tx, tenantId: string, channelId: string): Promise<boolean> {
  const { rows } = await sql<{ readonly owes: boolean }>`
    select exists (select from notice_groups
        where tenant_id = ${tenantId} and channel_id = ${channelId} and cardinality(shown) > 0)
      or exists (select from deliveries where tenant_id = ${tenantId} and channel_id = ${channelId} and settled_at is null
        and jsonb_array_length(coalesce(action_config->'resolved', '[]')) > 0) as owes
  `.execute(tx);
  return rows[0]?.owes === true;
}

async function enableDestination(tx: Tx, tenantId: string, channelId: string): Promise<void> {
  await tx
    .updateTable('destinations')
    .set({ disabled_at: null, disabled_reason: null })
    .where('tenant_id', '=', tenantId)
    .where('destination', '=', channelDestination(channelId))
    .execute();
}

function viewOf(row: Omit<ChannelRow, 'created_at' | 'updated_at'>): ChannelView {
  const { channel_id: id, name, target, fallback, enabled, version } = row;
  return {
    ...{ id, kind: kindOf(row), target, enabled, version, health: { state: 'unused' as const } },
    ...(name === null ? {} : { name }),
    ...(fallback === null ? {} : { fallback }),
  };
}

function shownOf(row: Omit<ChannelRow, 'created_at' | 'updated_at'>): object {
  const { health: _, ...shown } = viewOf(row);
  return shown;
}
