import { DAY_MS } from '@agentlens/contracts';
import type { RuleSummary } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';

const DAYS = 7;

interface Row {
  ruleId: string;
  daysAgo: number;
  fired: number;
  wouldHave: number;
  last: string;
}

/**
 * Counts how often each rule fired on each of the last seven days: triggers of event rules and matches of decision
 * rules.
 */
@Injectable()
export class RuleSummariesQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async list(tenantId: string): Promise<RuleSummary[]> {
    const now = this.clock.now();
    const until = new Date(now).toISOString();
    const from = new Date(now - DAYS * DAY_MS).toISOString();
    const rows = await this.reads.read(tenantId, async (db) => {
      const answer = await sql<Row>`
        with fired as (
          select rule_id, triggered_at as at, dry_run as shadow from guardrail_triggers
          where tenant_id = ${tenantId} and triggered_at > ${from}::timestamptz and action_result <> 'cooldown'
          union all
          select finding->>'ruleId', decided_at, finding->>'mode' = 'shadow'
          from decisions cross join lateral jsonb_array_elements(evaluated_rules) as finding
          where tenant_id = ${tenantId} and decided_at > ${from}::timestamptz and not asked_again and (effect <> 'allow' or would_have is not null)
            and (finding->>'violated')::boolean
        )
        select rule_id as "ruleId",
          least(${sql.lit(DAYS - 1)}, greatest(0, floor(extract(epoch from ${until}::timestamptz - at) / 86400)))::int
            as "daysAgo",
          count(*) filter (where not shadow) as fired, count(*) filter (where shadow) as "wouldHave", max(at) as last
        from fired group by 1, 2`.execute(db);
      return answer.rows;
    });
    const { rows: measured } = await this.reads.read(tenantId, (db) =>
      sql<{ ruleId: string; agentId: string; value: number | null; degradedReason: string | null }>`
        select distinct on (rule_id) rule_id as "ruleId", agent_id as "agentId", current_value as value,
          degraded_reason as "degradedReason"
        from guardrail_states where tenant_id = ${tenantId}
        order by rule_id, current_value desc nulls last`.execute(db),
    );
    const highest = new Map(measured.map((row) => [row.ruleId, row]));
    const byRule = Map.groupBy(rows, ({ ruleId }) => ruleId);
    return [...new Set([...byRule.keys(), ...highest.keys()])].map((ruleId) =>
      summaryOf(ruleId, byRule.get(ruleId) ?? [], highest.get(ruleId)),
    );
  }
}

function summaryOf(
  ruleId: string,
  rows: readonly Row[],
  highest: { agentId: string; value: number | null; degradedReason: string | null } | undefined,
): RuleSummary {
  const perDay = (of: 'fired' | 'wouldHave') =>
    Array.from({ length: DAYS }, (_, index) => {
      const row = rows.find(({ daysAgo }) => daysAgo === DAYS - 1 - index);
      return row === undefined ? 0 : row[of];
    });
  const last = rows
    .map((row) => row.last)
    .sort()
    .at(-1);
  return {
    ruleId,
    fired: perDay('fired'),
    wouldHave: perDay('wouldHave'),
    ...(last === undefined ? {} : { lastAt: last }),
    ...(highest?.value == null ? {} : { highest: { agentId: highest.agentId, value: highest.value } }),
    ...(highest?.degradedReason == null ? {} : { degradedReason: highest.degradedReason }),
  };
}
