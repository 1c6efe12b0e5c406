import { createHash } from 'node:crypto';
import { type ChangeAuthor, timeOrderedId } from '@agentlens/contracts';
import { type Database, type ErasuresTable, recordChanges } from '@agentlens/database';
import { type Selectable, sql } from 'kysely';
import { noteRemoval } from '../log/removed-entries.ts';
import { WITHOUT_CONTENTS } from './old-contents.repository.ts';

const RUNS_AT_ONCE = 100;
/** A statement may run for ten seconds; this many rows take well under one. */
const ROWS_AT_ONCE = 2_000;

type ErasureRow = Selectable<ErasuresTable>;

/** An unfinished erasure. */
export interface RunningErasure {
  readonly tenantId: string;
  readonly id: string;
  readonly actorId: string;
}

interface ErasureOrder {
  readonly tenantId: string;
  readonly actorId: string;
  readonly author?: ChangeAuthor | undefined;
}

/** Writer of `erasures`; erases contents of runs, events and decisions. */
export class Erasures {
  constructor(private readonly database: Pick<Database, 'db'>) {}

  /** Starts an erasure, or returns the running one of the actor. @throws database errors */
  begin({ tenantId, actorId, author }: ErasureOrder): Promise<ErasureRow> {
    const digest = createHash('sha256').update(actorId).digest('hex');
    return this.database.db.transaction().execute(async (tx) => {
      const made = await tx
        .insertInto('erasures')
        .values({
          tenant_id: tenantId,
          erasure_id: timeOrderedId(Date.now()),
          actor_id: actorId,
          actor_digest: digest,
          state: 'running',
          author: author === undefined ? null : JSON.stringify(author),
        })
        .onConflict((conflict) => conflict.doNothing())
        .returningAll()
        .executeTakeFirst();
      if (made === undefined) {
        return tx
          .selectFrom('erasures')
          .selectAll()
          .where('tenant_id', '=', tenantId)
          .where('actor_digest', '=', digest)
          .where('state', '=', 'running')
          .executeTakeFirstOrThrow();
      }
      await recordChanges(tx, [
        {
          ...{ tenantId, at: made.requested_at, kind: 'erasure.started', targetId: made.erasure_id, author },
          after: { actorDigest: digest },
        },
      ]);
      return made;
    });
  }

  async running(): Promise<readonly RunningErasure[]> {
    const { rows } = await sql<RunningErasure>`
      select tenant_id as "tenantId", erasure_id as id, actor_id as "actorId" from erasures
      where state = 'running' and actor_id is not null order by requested_at limit 20`.execute(this.database.db);
    return rows;
  }

  /** Runs that still name the actor, with sub-runs that name none; a limited number. */
  async runsOf({ tenantId, actorId }: RunningErasure): Promise<readonly string[]> {
    const { rows } = await sql<{ run_id: string }>`
      with recursive mine as (
        (select run_id from runs where tenant_id = ${tenantId} and actor_id = ${actorId}
          order by started_at desc limit ${sql.lit(RUNS_AT_ONCE)})
        union
        select r.run_id from runs r join mine on r.parent_run_id = mine.run_id
        where r.tenant_id = ${tenantId} and r.actor_id is null
      )
      select run_id from mine`.execute(this.database.db);
    return rows.map(({ run_id }) => run_id);
  }

  /** Erases the contents of a batch of events and counts them. @returns true if more may be left */
  async eraseSome({ tenantId, id }: RunningErasure, runIds: readonly string[]): Promise<boolean> {
    const { rows } = await sql<{ erased: number }>`
      with old as (
        select tenant_id, occurred_at, event_id from events
        where tenant_id = ${tenantId} and run_id = any(${[...runIds]}::text[]) and content_expired is null
        limit ${sql.lit(ROWS_AT_ONCE)}
      ),
      stripped as (
        update events e set ${sql.raw(WITHOUT_CONTENTS)} from old o
        where e.tenant_id = o.tenant_id and e.occurred_at = o.occurred_at and e.event_id = o.event_id returning 1
      ),
      asked as (
        update decisions set arguments = null, arguments_cut = null
        where tenant_id = ${tenantId} and run_id = any(${[...runIds]}::text[]) and (arguments is not null or arguments_cut is not null)
      ),
      unsalted as (
        update log_payloads set member_salt = null
        where tenant_id = ${tenantId} and run_id = any(${[...runIds]}::text[]) and member_salt is not null
        returning tenant_id, index
      ),
      ${sql.raw(noteRemoval('erasure', 'members', 'unsalted'))}
      update erasures set events = events + (select count(*) from stripped)
      where tenant_id = ${tenantId} and erasure_id = ${id}
      returning (select count(*) from stripped)::int as erased`.execute(this.database.db);
    return rows[0]?.erased === ROWS_AT_ONCE;
  }

  /** Removes the actor and the results from these runs. */
  async forget({ tenantId, id, actorId }: RunningErasure, runIds: readonly string[]): Promise<void> {
    await sql`
      with forgotten as (
        update runs set actor = null, actor_id = null, result = null, error_message = null
        where tenant_id = ${tenantId} and run_id = any(${[...runIds]}::text[]) 
          and (actor_id = ${actorId} or actor_id is null) returning 1
      )
      update erasures set runs = runs + (select count(*) from forgotten)
      where tenant_id = ${tenantId} and erasure_id = ${id}`.execute(this.database.db);
  }

  /** Takes effect once, for the first replica. */
  finish({ tenantId, id }: RunningErasure): Promise<void> {
    return this.database.db.transaction().execute(async (tx) => {
      const done = await tx
        .updateTable('erasures')
        .set({ state: 'finished', finished_at: sql<string>`now()`, actor_id: null })
        .where('tenant_id', '=', tenantId)
        .where('erasure_id', '=', id)
        .where('state', '=', 'running')
        .returningAll()
        .executeTakeFirst();
      if (done?.finished_at == null) return;
      const { finished_at: at, actor_digest: actorDigest, runs, events } = done;
      const author = (done.author as ChangeAuthor | null) ?? undefined;
      const after = { actorDigest, runs, events };
      await recordChanges(tx, [{ tenantId, at, kind: 'erasure.finished', targetId: id, author, after }]);
    });
  }
}
