import type { ChangeAuthor } from '@agentlens/contracts';
import { type Database, recordChanges } from '@agentlens/database';
import { sql } from 'kysely';
import { noteRemoval } from '../log/removed-entries.ts';

/** A statement may run for ten seconds; this many rows take well under one. */
const ROWS_AT_ONCE = 5_000;

/** A deleted run. */
export interface DeletedRun {
  readonly tenantId: string;
  readonly runId: string;
  readonly deletedAt: string;
}

export interface RunDeletion {
  readonly tenantId: string;
  readonly runId: string;
  readonly author?: ChangeAuthor | undefined;
  readonly reason?: string | undefined;
}

/** Writer of `deleted_runs`; deletes the row, events and decisions of a run. */
export class DeletedRuns {
  constructor(private readonly database: Pick<Database, 'db'>) {}

  /**
   * Marks a run as deleted: no further event of it is stored. Deletes its row and detaches sub-runs; counts per agent
   * and day stay. Returns undefined if there is no such run. @throws database errors
   */
  mark({ tenantId, runId, author, reason }: RunDeletion): Promise<DeletedRun | undefined> {
    return this.database.db.transaction().execute(async (tx) => {
      const { rows: runs } = await sql<{ agent_id: string; status: string; started_at: string; event_count: number }>`
        delete from runs where tenant_id = ${tenantId} and run_id = ${runId}
        returning agent_id, status, started_at, event_count`.execute(tx);
      const [run] = runs;
      if (run === undefined && !(await this.#wasDecided(tenantId, runId))) return undefined;
      const marked = await tx
        .insertInto('deleted_runs')
        .values({ tenant_id: tenantId, run_id: runId })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'run_id']).doNothing())
        .returning('deleted_at')
        .executeTakeFirst();
      if (marked === undefined) return undefined;
      await tx
        .updateTable('runs')
        .set({ parent_run_id: null, parent_tool_use_id: null })
        .where('tenant_id', '=', tenantId)
        .where('parent_run_id', '=', runId)
        .execute();
      const deletedAt = marked.deleted_at;
      const before =
        run === undefined
          ? undefined
          : { agentId: run.agent_id, status: run.status, startedAt: run.started_at, events: run.event_count };
      await recordChanges(tx, [
        { tenantId, at: deletedAt, kind: 'run.deleted', targetId: runId, author, reason, before },
      ]);
      return { tenantId, runId, deletedAt };
    });
  }

  async #wasDecided(tenantId: string, runId: string): Promise<boolean> {
    const { rows } = await sql<{ decided: boolean }>`
      select exists (select from decisions where tenant_id = ${tenantId} and run_id = ${runId}) as decided`.execute(
      this.database.db,
    );
    return rows[0]?.decided === true;
  }

  /** Deletes a batch of the run's data. @returns true if more may be left. @throws database errors */
  async removeSome({ tenantId, runId }: DeletedRun): Promise<boolean> {
    const removed = await sql<{ removed: number }>`
      with late as (delete from runs where tenant_id = ${tenantId} and run_id = ${runId}),
      old_events as (
        select tenant_id, occurred_at, event_id from events where tenant_id = ${tenantId} and run_id = ${runId}
        limit ${sql.lit(ROWS_AT_ONCE)}
      ),
      gone_events as (delete from events e using old_events o
        where e.tenant_id = o.tenant_id and e.occurred_at = o.occurred_at and e.event_id = o.event_id returning 1),
      gone_decisions as (
        delete from decisions where ctid = any(array(
          select ctid from decisions where tenant_id = ${tenantId} and run_id = ${runId}
          limit ${sql.lit(ROWS_AT_ONCE)})) returning tenant_id, decision_id
      ),
      forgotten_numbers as (delete from log_runs where tenant_id = ${tenantId} and run_id = ${runId}),
      never_sealed as (delete from log_pending where tenant_id = ${tenantId} and run_id = ${runId}),
      unsalted as (
        delete from log_payloads where tenant_id = ${tenantId} and run_id = ${runId}
          and (kind <> 'decision' or entry_id in (select decision_id from gone_decisions))
        returning tenant_id, index
      ),
      ${sql.raw(noteRemoval('erasure', 'payload', 'unsalted'))}
      select greatest((select count(*) from gone_events), (select count(*) from gone_decisions))::int as removed`.execute(
      this.database.db,
    );
    return removed.rows[0]?.removed === ROWS_AT_ONCE;
  }

  /** Deleted runs that are due for another pass. @throws database errors */
  async due(limit: number): Promise<readonly DeletedRun[]> {
    const { rows } = await sql<DeletedRun>`
      select tenant_id as "tenantId", run_id as "runId", deleted_at as "deletedAt" from deleted_runs
      where next_pass_at <= now() order by next_pass_at limit ${limit}`.execute(this.database.db);
    return rows;
  }

  /** Lets the runs that are due now go first. @throws database errors */
  async postpone({ tenantId, runId }: DeletedRun): Promise<void> {
    await sql`
      update deleted_runs set next_pass_at = now() + interval '15 seconds'
      where tenant_id = ${tenantId} and run_id = ${runId}`.execute(this.database.db);
  }

  /**
   * Ends a pass. Events in flight arrive within a minute unless there is a backlog, so a pass follows after a minute
   * and one after an hour. @throws database errors
   */
  async passed({ tenantId, runId }: DeletedRun): Promise<void> {
    await sql`
      update deleted_runs set next_pass_at = case
        when now() < deleted_at + interval '1 minute' then deleted_at + interval '1 minute'
        when now() < deleted_at + interval '1 hour' then deleted_at + interval '1 hour' end
      where tenant_id = ${tenantId} and run_id = ${runId}`.execute(this.database.db);
  }
}
