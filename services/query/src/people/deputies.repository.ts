import { type ChangeAuthor, DAY_MS, findRolesWith, MAX_DEPUTIES, MAX_DEPUTY_DAYS } from '@agentlens/contracts';
import { type Database, lockUntilEnd, recordChanges, type Tables } from '@agentlens/database';
import type { DeputyshipView } from '@agentlens/operations';
import { type Clock, ProblemException, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, sql, type Transaction } from 'kysely';

interface DeputyChange {
  readonly tenantId: string;
  readonly personId: string;
  readonly author: ChangeAuthor;
}

const MAX_CANDIDATES = 1_000;
const ROLES_THAT_REVIEW = findRolesWith('review');

/** People who decide in the place of others. This service is their only writer; the dispatcher judges by them. */
@Injectable()
export class Deputies {
  constructor(
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async list(tenantId: string, personId: string) {
    const { db } = this.database;
    return {
      deputies: await this.#read(db, tenantId, 'person_id', personId),
      standsInFor: await this.#read(db, tenantId, 'deputy_id', personId),
      candidates: await this.#candidates(db, tenantId, personId),
    };
  }

  async isPerson(tenantId: string, personId: string): Promise<boolean> {
    const row = await this.database.db
      .selectFrom('people')
      .select('person_id')
      .where('tenant_id', '=', tenantId)
      .where('person_id', '=', personId)
      .executeTakeFirst();
    return row !== undefined;
  }

  /** @throws ProblemException 409, 422 */
  async set(
    deputyId: string,
    { startsAt, endsAt }: { readonly startsAt?: string | undefined; readonly endsAt: string },
    { tenantId, personId, author }: DeputyChange,
  ): Promise<DeputyshipView> {
    const nowMs = this.clock.now();
    const starts = new Date(startsAt ?? nowMs).toISOString();
    const ends = new Date(endsAt).toISOString();
    requirePeriod(starts, ends, nowMs);
    if (deputyId === personId) throw wrong('id', 'must be another person');
    return this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'deputies', `${tenantId} ${personId}`);
      const [candidate] = await this.#candidates(tx, tenantId, personId, deputyId);
      if (candidate === undefined)
        throw wrong('id', 'must be an active person with the role approver, operator or admin');
      await this.#deleteEnded(tx, tenantId, personId);
      const others = (await this.#read(tx, tenantId, 'person_id', personId)).filter(
        ({ person }) => person !== deputyId,
      );
      if (others.length >= MAX_DEPUTIES)
        throw new ProblemException(409, `A person has at most ${MAX_DEPUTIES} deputies`, {
          hint: 'End the time of one first.',
        });
      const at = new Date(nowMs).toISOString();
      const values = { starts_at: starts, ends_at: ends, created_at: at };
      await tx
        .insertInto('deputies')
        .values({ tenant_id: tenantId, person_id: personId, deputy_id: deputyId, ...values })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'person_id', 'deputy_id']).doUpdateSet(values))
        .execute();
      const after = { person: personId, deputy: deputyId, deputyName: candidate.name, startsAt: starts, endsAt: ends };
      await recordChanges(tx, [{ tenantId, at, kind: 'deputy.named', targetId: deputyId, author, after }]);
      return { ...candidate, startsAt: starts, endsAt: ends, state: starts > at ? 'pending' : 'active' };
    });
  }

  /** Returns false if this person is no deputy of the caller. */
  async end(deputyId: string, { tenantId, personId, author }: DeputyChange): Promise<boolean> {
    const at = new Date(this.clock.now()).toISOString();
    return this.database.db.transaction().execute(async (tx) => {
      const ended = await tx
        .deleteFrom('deputies')
        .where('tenant_id', '=', tenantId)
        .where('person_id', '=', personId)
        .where('deputy_id', '=', deputyId)
        .where('ends_at', '>', at)
        .returning(['starts_at', 'ends_at'])
        .executeTakeFirst();
      if (ended === undefined) return false;
      const before = { person: personId, deputy: deputyId, startsAt: ended.starts_at, endsAt: ended.ends_at };
      await recordChanges(tx, [{ tenantId, at, kind: 'deputy.ended', targetId: deputyId, author, before }]);
      return true;
    });
  }

  /** People who can review calls of some agent now, besides this person. */
  async #candidates(db: Kysely<Tables>, tenantId: string, personId: string, only?: string) {
    const { rows } = await sql<{ readonly person: string; readonly name: string }>`
      select p.person_id as person, p.name from people p
      where p.tenant_id = ${tenantId} and p.person_id <> ${personId} and p.state = 'active'
        and (${only ?? null}::text is null or p.person_id = ${only ?? null}::text)
        and exists (
          select from person_grants g where g.tenant_id = p.tenant_id and g.person_id = p.person_id
            and g.role = any(${ROLES_THAT_REVIEW}) and (g.source = 'manual' or p.claims_until > ${this.#at()}))
      order by p.name, p.person_id limit ${MAX_CANDIDATES}
    `.execute(db);
    return rows;
  }

  /** By the one who named the deputy, or by the deputy; each with the other's name. */
  async #read(
    db: Kysely<Tables>,
    tenantId: string,
    by: 'person_id' | 'deputy_id',
    personId: string,
  ): Promise<DeputyshipView[]> {
    const at = this.#at();
    const other = by === 'person_id' ? 'deputy_id' : 'person_id';
    const rows = await db
      .selectFrom('deputies as d')
      .innerJoin('people as p', (join) =>
        join.onRef('p.tenant_id', '=', 'd.tenant_id').onRef('p.person_id', '=', `d.${other}`),
      )
      .select(['p.person_id as person', 'p.name', 'd.starts_at', 'd.ends_at'])
      .where('d.tenant_id', '=', tenantId)
      .where(`d.${by}`, '=', personId)
      .where('d.ends_at', '>', at)
      .orderBy('d.starts_at')
      .orderBy('p.person_id')
      .execute();
    return rows.map(({ person, name, starts_at: startsAt, ends_at: endsAt }) => ({
      ...{ person, name, startsAt, endsAt },
      state: startsAt > at ? ('pending' as const) : ('active' as const),
    }));
  }

  async #deleteEnded(tx: Transaction<Tables>, tenantId: string, personId: string): Promise<void> {
    await tx
      .deleteFrom('deputies')
      .where('tenant_id', '=', tenantId)
      .where('person_id', '=', personId)
      .where('ends_at', '<=', this.#at())
      .execute();
  }

  #at(): string {
    return new Date(this.clock.now()).toISOString();
  }
}

function requirePeriod(startsAt: string, endsAt: string, nowMs: number): void {
  if (endsAt <= startsAt || Date.parse(endsAt) <= nowMs) throw wrong('endsAt', 'must be after the start and after now');
  if (Date.parse(endsAt) - Date.parse(startsAt) > MAX_DEPUTY_DAYS * DAY_MS)
    throw wrong('endsAt', `must be at most ${MAX_DEPUTY_DAYS} days after the start`);
}

function wrong(path: string, message: string): ProblemException {
  return new ProblemException(422, 'The deputy cannot be named', { details: [{ path, message }] });
}

/** Ends all deputyships of a person who was disabled, on both sides: they do not return. */
export async function deleteDeputyships(tx: Transaction<Tables>, tenantId: string, personId: string): Promise<void> {
  await tx
    .deleteFrom('deputies')
    .where('tenant_id', '=', tenantId)
    .where((eb) => eb.or([eb('person_id', '=', personId), eb('deputy_id', '=', personId)]))
    .execute();
}
