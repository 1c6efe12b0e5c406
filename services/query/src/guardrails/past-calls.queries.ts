import type { PastCall } from '@agentlens/guardrails';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';

const MAX_CALLS = 1_000;

/** Reads the tool calls of a run that were allowed, oldest first, from its decisions. */
@Injectable()
export class PastCallsQueries {
  constructor(private readonly reads: TenantReads) {}

  async of(tenantId: string, runId: string, before: string | undefined): Promise<PastCall[]> {
    const rows = await this.reads.read(tenantId, (db) => {
      let query = db
        .selectFrom('decisions')
        .select(['decision_id', 'call_id', 'tool_name', 'inputs_digest', 'decided_at'])
        .where('tenant_id', '=', tenantId)
        .where('run_id', '=', runId)
        .where('phase', '=', 'tool.before')
        .where('verdict', '=', 'ALLOW');
      if (before !== undefined) query = query.where(sql<boolean>`decided_at < ${before}::timestamptz`);
      return query.orderBy('decided_at', 'asc').limit(MAX_CALLS).execute();
    });
    return rows.map((row) => ({
      callKey: row.call_id ?? row.decision_id,
      toolName: row.tool_name ?? '',
      toolTags: [],
      argsHash: row.inputs_digest,
      atMs: Date.parse(row.decided_at),
      status: 'allowed' as const,
    }));
  }
}
