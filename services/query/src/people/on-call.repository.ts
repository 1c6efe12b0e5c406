import {
  type ChangeAuthor,
  DAY_MS,
  MAX_ON_CALL_OVERRIDE_DAYS,
  MAX_ON_CALL_OVERRIDES,
  MAX_ON_CALL_SCHEDULES,
  OnCallLayer,
  type OnCallSchedule,
  timeOrderedId,
} from '@agentlens/contracts';
import { type Database, lockUntilEnd, recordChanges, type Tables } from '@agentlens/database';
import type { OnCallView } from '@agentlens/operations';
import { nextOnCall, type OnCallAnswer, onCallAt } from '@agentlens/people';
import { type Clock, ProblemException, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, sql, type Transaction } from 'kysely';
import { foundOr404, requireVersion } from '../http/tenant-reads.ts';

/** Overrides that ended longer ago no longer explain an approval. */
const KEPT_MS = 90 * DAY_MS;

interface ScheduleChange {
  readonly tenantId: string;
  readonly author: ChangeAuthor;
  readonly ifVersion?: number | undefined;
}

interface OverrideDraft {
  readonly person: string;
  readonly from?: string | undefined;
  readonly to: string;
}

/** On-call schedules and their overrides. This service is their only writer; the dispatcher judges votes by them. */
@Injectable()
export class OnCallSchedules {
  constructor(
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  /** @param atMs when, in epoch milliseconds; default: now */
  list(tenantId: string, atMs = this.clock.now()): Promise<OnCallView[]> {
    return this.#views(this.database.db, tenantId, atMs);
  }

  /** @throws ProblemException 404 */
  async find(tenantId: string, id: string, atMs = this.clock.now()): Promise<OnCallView> {
    const [view] = await this.#views(this.database.db, tenantId, atMs, id);
    return foundOr404('On-call schedule', view);
  }

  /** @throws ProblemException 412, 422 */
  async set(id: string, { name, layers }: OnCallSchedule, { tenantId, author, ifVersion }: ScheduleChange) {
    const at = this.#at();
    return this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'on-call', tenantId);
      const stored = await tx.selectFrom('on_call_schedules').selectAll().where('tenant_id', '=', tenantId).execute();
      const before = stored.find(({ schedule_id }) => schedule_id === id);
      requireVersion('on-call schedule', ifVersion, before?.version ?? 0);
      if (before === undefined && stored.length >= MAX_ON_CALL_SCHEDULES)
        throw new ProblemException(422, `A tenant has at most ${MAX_ON_CALL_SCHEDULES} on-call schedules`);
      await requirePeople(
        tx,
        tenantId,
        layers.flatMap(({ people }, layer) =>
          people.map((person, n) => ({ person, path: `layers.${layer}.people.${n}` })),
        ),
      );
      const values = { name, layers: JSON.stringify(layers), version: (before?.version ?? 0) + 1 };
      await tx
        .insertInto('on_call_schedules')
        .values({ tenant_id: tenantId, schedule_id: id, created_at: at, ...values })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'schedule_id']).doUpdateSet(values))
        .execute();
      const change = { tenantId, at, kind: 'on_call.set', targetId: id, author } as const;
      const was = before && { name: before.name, layers: before.layers };
      await recordChanges(tx, [{ ...change, before: was, after: { name, layers } }]);
      return this.#view(tx, tenantId, id);
    });
  }

  /** @throws ProblemException 404, or 409 if an approval policy names it */
  async delete(id: string, { tenantId, author }: ScheduleChange): Promise<void> {
    const at = this.#at();
    await this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'on-call', tenantId);
      const { name, layers } = await this.#view(tx, tenantId, id);
      const policies = await tx
        .selectFrom('approval_policies')
        .select(sql<string>`body->>'name'`.as('name'))
        .where('tenant_id', '=', tenantId)
        .where(sql<boolean>`body->'approvers'->'onCall' ? ${id}`)
        .orderBy('place')
        .execute();
      if (policies.length > 0) {
        throw new ProblemException(409, 'This on-call schedule is in use', {
          details: policies.map((one) => ({ path: 'id', message: `the approval policy "${one.name}" names it` })),
        });
      }
      for (const table of ['on_call_schedules', 'on_call_overrides'] as const) {
        await tx.deleteFrom(table).where('tenant_id', '=', tenantId).where('schedule_id', '=', id).execute();
      }
      await recordChanges(tx, [
        { tenantId, at, kind: 'on_call.deleted', targetId: id, author, before: { name, layers } },
      ]);
    });
  }

  /** @throws ProblemException 404, 409, 422 */
  async addOverride(id: string, { person, from, to }: OverrideDraft, { tenantId, author }: ScheduleChange) {
    const nowMs = this.clock.now();
    const at = new Date(nowMs).toISOString();
    const starts = new Date(from ?? nowMs).toISOString();
    const ends = new Date(to).toISOString();
    return this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'on-call', tenantId);
      // First, so that a schedule of another tenant looks as if it did not exist.
      const { overrides } = await this.#view(tx, tenantId, id);
      // Otherwise a person could be put on call at the opening of an approval that waits already.
      if (starts < at) throw wrong('from', 'must not be in the past');
      if (ends <= starts) throw wrong('to', 'must be after the start');
      if (Date.parse(ends) - Date.parse(starts) > MAX_ON_CALL_OVERRIDE_DAYS * DAY_MS)
        throw wrong('to', `must be at most ${MAX_ON_CALL_OVERRIDE_DAYS} days after the start`);
      await requirePeople(tx, tenantId, [{ person, path: 'person' }]);
      if (overrides.length >= MAX_ON_CALL_OVERRIDES)
        throw new ProblemException(409, `A schedule has at most ${MAX_ON_CALL_OVERRIDES} overrides`, {
          hint: 'Remove one first.',
        });
      await tx
        .deleteFrom('on_call_overrides')
        .where('tenant_id', '=', tenantId)
        .where('schedule_id', '=', id)
        .where('ends_at', '<', new Date(nowMs - KEPT_MS).toISOString())
        .execute();
      const overrideId = timeOrderedId(nowMs);
      await tx
        .insertInto('on_call_overrides')
        .values({
          ...{ tenant_id: tenantId, schedule_id: id, override_id: overrideId, person_id: person },
          ...{ starts_at: starts, ends_at: ends, created_at: at },
        })
        .execute();
      const after = { override: overrideId, person, from: starts, to: ends };
      await recordChanges(tx, [{ tenantId, at, kind: 'on_call.override_added', targetId: id, author, after }]);
      return this.#view(tx, tenantId, id);
    });
  }

  /** One that has begun is kept until now: it says who was on call. @throws ProblemException 404 */
  async endOverride(id: string, overrideId: string, { tenantId, author }: ScheduleChange) {
    const at = this.#at();
    return this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'on-call', tenantId);
      const { overrides } = await this.#view(tx, tenantId, id);
      const override = foundOr404(
        'Override',
        overrides.find((one) => one.id === overrideId),
      );
      const { person, from, to } = override;
      await tx
        .updateTable('on_call_overrides')
        .set({ ends_at: from > at ? from : at })
        .where('tenant_id', '=', tenantId)
        .where('schedule_id', '=', id)
        .where('override_id', '=', overrideId)
        .execute();
      const before = { override: overrideId, person, from, to };
      await recordChanges(tx, [{ tenantId, at, kind: 'on_call.override_ended', targetId: id, author, before }]);
      return this.#view(tx, tenantId, id);
    });
  }

  async #view(tx: Transaction<Tables>, tenantId: string, id: string): Promise<OnCallView> {
    const [view] = await this.#views(tx, tenantId, this.clock.now(), id);
    return foundOr404('On-call schedule', view);
  }

  async #views(db: Kysely<Tables>, tenantId: string, atMs: number, only?: string): Promise<OnCallView[]> {
    const at = new Date(atMs).toISOString();
    const schedules = await db
      .selectFrom('on_call_schedules')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .$if(only !== undefined, (query) => query.where('schedule_id', '=', only ?? ''))
      .orderBy('schedule_id')
      .execute();
    if (schedules.length === 0) return [];
    const rows = await db
      .selectFrom('on_call_overrides')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .$if(only !== undefined, (query) => query.where('schedule_id', '=', only ?? ''))
      .where('ends_at', '>', at)
      .orderBy('override_id')
      .execute();
    const bySchedule = Map.groupBy(
      rows.filter(({ starts_at, ends_at }) => ends_at > starts_at),
      ({ schedule_id }) => schedule_id,
    );
    const parsed = schedules.map(({ schedule_id: id, name, layers, version }) => {
      const overrides = (bySchedule.get(id) ?? []).map((one) => ({
        ...{ id: one.override_id, person: one.person_id, from: one.starts_at, to: one.ends_at },
      }));
      const schedule = { name, layers: OnCallLayer.array().parse(layers), overrides };
      return { id, version, schedule, now: onCallAt(schedule, atMs), next: nextOnCall(schedule, atMs) };
    });
    const people = parsed.flatMap(({ schedule: { overrides }, now, next }) => [
      ...overrides.map(({ person }) => person),
      ...[now.person, next?.answer.person].flatMap((person) => person ?? []),
    ]);
    const names = await readNames(db, tenantId, people);
    const shiftFrom = (answer: OnCallAnswer) => ({ ...answer, name: names.get(answer.person ?? '') ?? null });
    return parsed.map(({ id, version, schedule, now, next }) => ({
      ...{ id, name: schedule.name, layers: schedule.layers, version, at },
      overrides: schedule.overrides.map((one) => ({ ...one, name: names.get(one.person) ?? null })),
      onCall: shiftFrom(now),
      next: next === undefined ? null : { ...shiftFrom(next.answer), at: new Date(next.atMs).toISOString() },
    }));
  }

  #at(): string {
    return new Date(this.clock.now()).toISOString();
  }
}

async function readNames(db: Kysely<Tables>, tenantId: string, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('people')
    .select(['person_id', 'name'])
    .where('tenant_id', '=', tenantId)
    .where('person_id', 'in', [...new Set(ids)])
    .execute();
  return new Map(rows.map(({ person_id, name }) => [person_id, name]));
}

/** @throws ProblemException 422 naming the places of people who do not exist */
async function requirePeople(
  tx: Transaction<Tables>,
  tenantId: string,
  named: readonly { readonly person: string; readonly path: string }[],
): Promise<void> {
  const known = await readNames(
    tx,
    tenantId,
    named.map(({ person }) => person),
  );
  const details = named
    .filter(({ person }) => !known.has(person))
    .map(({ path }) => ({ path, message: 'is not the id of a person' }));
  if (details.length > 0)
    throw new ProblemException(422, 'The on-call schedule names people who do not exist', { details });
}

function wrong(path: string, message: string): ProblemException {
  return new ProblemException(422, 'The override cannot be added', { details: [{ path, message }] });
}
