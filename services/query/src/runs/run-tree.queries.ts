import type { RunsTable } from '@agentlens/database';
import { CLOCK, type Clock } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';
import { runTree, type TreeNode } from './run-tree.ts';
import { runFromRow } from './run-view.ts';

const MOST_RUNS = 1_000;
const MOST_DEPTH = 20;

@Injectable()
export class RunTreeQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Undefined where there is no such run. */
  async get(tenantId: string, runId: string): Promise<{ runs: TreeNode[]; truncated: boolean } | undefined> {
    const rows = await this.reads.read(tenantId, async (db) => {
      // The recursion is read row by row, so the limit ends it; the path ends circles.
      const found = await sql<Selectable<RunsTable> & { depth: number }>`
        with recursive tree as (
          select run_id, 0 as depth, array[run_id] as path from runs where tenant_id = ${tenantId} and run_id = ${runId}
          union all
          select r.run_id, tree.depth + 1, tree.path || r.run_id
          from tree join runs r on r.tenant_id = ${tenantId} and r.parent_run_id = tree.run_id
          where tree.depth <= ${MOST_DEPTH} and r.run_id <> all(tree.path)
        )
        select runs.*, nearest.depth from (select * from tree limit ${MOST_RUNS + 1}) as nearest
        join runs on runs.tenant_id = ${tenantId} and runs.run_id = nearest.run_id`.execute(db);
      return found.rows;
    });
    if (rows.length === 0) return undefined;
    const kept = rows
      .toSorted((a, b) => a.depth - b.depth)
      .filter(({ depth }) => depth <= MOST_DEPTH)
      .slice(0, MOST_RUNS);
    const now = this.clock.now();
    const runs = runTree(
      runId,
      kept.map((row) => runFromRow(row, now)),
    );
    return { runs, truncated: kept.length < rows.length };
  }
}
