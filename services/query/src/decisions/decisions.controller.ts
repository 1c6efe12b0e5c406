import { type AskReason, DAY_MS, type GuardrailRule } from '@agentlens/contracts';
import { ruleFromRow } from '@agentlens/database';
import { ASK_WORDS, activate, askAdvice } from '@agentlens/guardrails';
import {
  DECISIONS_LIST,
  type DecisionFilter,
  type DecisionPaths,
  type DecisionView,
  getDecision,
  getDecisionPaths,
  listDecisions,
  type RequestOf,
  withEnds,
} from '@agentlens/operations';
import { type Caller, type Clock, CurrentCaller, FromRequest, port, Serves } from '@agentlens/platform';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { foundOr404, type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { decisionFromRow, selectDecisions } from '../runs/decision-view.ts';

/** Maximum number of reasons and rules that are listed. */
const MAX_ASKED = 50;

@Injectable()
export class DecisionsQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async list(tenantId: string, filter: DecisionFilter): Promise<Page<DecisionView>> {
    const rows = await this.reads.read(tenantId, (db) => pageRows(db, tenantId, withEnds(filter, this.clock.now())));
    const positionOf = (row: { decided_at: string; decision_id: string }) => ({
      at: row.decided_at,
      id: row.decision_id,
    });
    return pageOf(DECISIONS_LIST, rows, filter.limit, positionOf, decisionFromRow);
  }

  async get(tenantId: string, id: string): Promise<DecisionView | undefined> {
    const row = await this.reads.read(tenantId, (db) =>
      selectDecisions(db, tenantId).where('decision_id', '=', id).executeTakeFirst(),
    );
    return row && decisionFromRow(row);
  }

  async paths(tenantId: string, query: RequestOf<typeof getDecisionPaths>['query']): Promise<DecisionPaths> {
    const nowMs = this.clock.now();
    const { from = new Date((query.to === undefined ? nowMs : Date.parse(query.to)) - DAY_MS).toISOString(), to } =
      withEnds(query, nowMs);
    return this.reads.read(tenantId, async (db) => {
      const hours = sql`tenant_id = ${tenantId} and hour >= date_trunc('hour', ${from}::timestamptz, 'UTC')
        ${to === undefined ? sql`` : sql`and hour < ${to}::timestamptz`}`;
      const counted = await sql<{ path: 'gateway' | 'evaluator' | 'unanswered'; decisions: string }>`
        select path, sum(decisions) as decisions from decision_paths where ${hours} group by path`.execute(db);
      const asked = await sql<{ asked: AskReason; rule_id: string; decisions: string }>`
        select asked, rule_id, sum(decisions) as decisions from decision_paths
        where ${hours} and path = 'evaluator' and asked <> '' group by 1, 2 order by 3 desc, 1, 2
        limit ${MAX_ASKED}`.execute(db);
      const rules = await db
        .selectFrom('guardrail_rules')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('deleted_at', 'is', null)
        .where('rule_id', 'in', ['', ...asked.rows.map(({ rule_id }) => rule_id)])
        .execute();
      const ruleOf = new Map(rules.map((row) => [row.rule_id, ruleFromRow(row)]));
      const countOf = (path: string) => Number(counted.rows.find((row) => row.path === path)?.decisions ?? 0);
      return {
        ...{ from: `${from.slice(0, 13)}:00:00.000Z`, ...(to === undefined ? {} : { to }) },
        ...{ gateway: countOf('gateway'), evaluator: countOf('evaluator'), unanswered: countOf('unanswered') },
        asked: asked.rows.map((row) =>
          askedPath(row.asked, Number(row.decisions), row.rule_id, ruleOf.get(row.rule_id)),
        ),
      };
    });
  }
}

function askedPath(
  reason: AskReason,
  decisions: number,
  ruleId: string,
  rule: GuardrailRule | undefined,
): DecisionPaths['asked'][number] {
  const activated = rule && activate(rule);
  const active = activated?.ok === true && activated.value.cadence === 'call' ? activated.value : undefined;
  const advice = askAdvice(reason, rule, active);
  return {
    ...{ reason, why: ASK_WORDS[reason], decisions },
    ...(ruleId === '' ? {} : { ruleId }),
    ...(rule === undefined ? {} : { ruleName: rule.name }),
    ...(advice === undefined ? {} : { advice }),
  };
}

function pageRows(db: ReadOnly, tenantId: string, filter: DecisionFilter) {
  let query = selectDecisions(db, tenantId);
  if (filter.agentId !== undefined) query = query.where('agent_id', '=', filter.agentId);
  if (filter.runId !== undefined) query = query.where('run_id', '=', filter.runId);
  if (filter.toolName !== undefined) query = query.where('tool_name', '=', filter.toolName);
  if (filter.phase !== undefined) query = query.where('phase', 'in', filter.phase);
  if (filter.verdict !== undefined) query = query.where('verdict', 'in', filter.verdict);
  if (filter.effect !== undefined) query = query.where('effect', 'in', filter.effect);
  if (filter.inputsDigest !== undefined) query = query.where('inputs_digest', '=', filter.inputsDigest);
  if (filter.from !== undefined) query = query.where('decided_at', '>=', filter.from);
  if (filter.to !== undefined) query = query.where('decided_at', '<=', filter.to);
  if (filter.reason !== undefined) query = query.where('reason', 'in', filter.reason);
  if (filter.budgetId !== undefined) query = query.where('budget_id', '=', filter.budgetId);
  if (filter.wouldHave !== undefined) query = query.where('would_have', 'in', filter.wouldHave);
  if (filter.ruleId !== undefined || filter.mode !== undefined) query = query.where(matchedBy(filter));
  if (filter.cursor !== undefined) {
    query = query.where(
      sql<boolean>`(decided_at, decision_id) < (${filter.cursor.at}::timestamptz, ${filter.cursor.id})`,
    );
  }
  return query
    .orderBy('decided_at', 'desc')
    .orderBy('decision_id', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}

/** JSON leaves undefined members out, so an undefined filter matches everything. */
function matchedBy({ ruleId, mode }: DecisionFilter) {
  return sql<boolean>`evaluated_rules @> ${JSON.stringify([{ ruleId, mode, matched: true }])}::jsonb`;
}

@Controller()
export class DecisionsController {
  constructor(private readonly decisions: DecisionsQueries) {}

  @Serves(listDecisions)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listDecisions>) {
    const { items, ...page } = await this.decisions.list(caller.tenantId, query);
    return { decisions: items, ...page };
  }

  @Serves(getDecision)
  async get(@CurrentCaller() caller: Caller, @FromRequest() { params }: RequestOf<typeof getDecision>) {
    return foundOr404('Decision', await this.decisions.get(caller.tenantId, params.id));
  }

  @Serves(getDecisionPaths)
  async paths(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof getDecisionPaths>) {
    return this.decisions.paths(caller.tenantId, query);
  }
}
