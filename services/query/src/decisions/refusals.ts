import { type ChangeAuthor, DAY_MS, signatureOf } from '@agentlens/contracts';
import { argumentLine } from '@agentlens/contracts/argument-line';
import { type Database, recordChanges } from '@agentlens/database';
import {
  type JudgementDraft,
  judgeRefusal,
  listRefusals,
  type RefusalGroup,
  type RefusalsQuery,
  type RequestOf,
  withEnds,
} from '@agentlens/operations';
import {
  type Caller,
  type Clock,
  CurrentCaller,
  FromRequest,
  ProblemException,
  port,
  Serves,
} from '@agentlens/platform';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { foundOr404, type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';

const MAX_REFUSALS = 5_000;
const MAX_GROUPS = 20;
const MAX_NEWEST = 20;
const KIND = 'decision.judged';

interface GroupRow {
  readonly rule_id: string | null;
  readonly rule_name: string | null;
  readonly rule_version: number | null;
  readonly reason: RefusalGroup['reason'] | null;
  readonly calls: number;
  readonly runs: number;
  readonly actors: number;
  readonly right: number;
  readonly wrong: number;
  readonly first_at: string;
  readonly last_at: string;
  readonly read: number;
  readonly newest: readonly NewestRow[];
}

interface NewestRow {
  readonly decisionId: string;
  readonly at: string;
  readonly runId: string;
  readonly agentId: string;
  readonly actor: string | null;
  readonly toolName: string | null;
  readonly callId: string | null;
  readonly arguments: unknown;
  readonly judged: {
    readonly after: Judged;
    readonly by: string;
    readonly at: string;
    readonly reason: string | null;
  } | null;
}

interface Judged {
  readonly judgement: 'right' | 'wrong';
}

/** Refused calls, and what people made of them. Judgements are entries of the audit. */
@Injectable()
export class Refusals {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async list(tenantId: string, query: RefusalsQuery) {
    const nowMs = this.clock.now();
    const { from = new Date(nowMs - DAY_MS).toISOString(), to, ruleId, agentId } = withEnds(query, nowMs);
    const rows = await this.reads.read(tenantId, (db) => groupRows(db, tenantId, { from, to, ruleId, agentId }));
    return { groups: rows.map(groupFromRow), complete: (rows[0]?.read ?? 0) < MAX_REFUSALS };
  }

  async judge(tenantId: string, decisionId: string, draft: JudgementDraft, author: ChangeAuthor) {
    const { judgement, reason } = draft;
    const decision = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('decisions')
        .select(['verdict', 'final_rule_id'])
        .where('tenant_id', '=', tenantId)
        .where('decision_id', '=', decisionId)
        .executeTakeFirst(),
    );
    if (foundOr404('Decision', decision).verdict !== 'BLOCK')
      throw new ProblemException(422, 'This call was not refused, so there is nothing to judge');
    const after = { judgement, ruleId: decision?.final_rule_id ?? null };
    const at = await this.database.db.transaction().execute(async (tx) => {
      const latest = await tx
        .selectFrom('audit_entries')
        .select('at')
        .where('tenant_id', '=', tenantId)
        .where('target_id', '=', decisionId)
        .where('kind', '=', KIND)
        .orderBy('at', 'desc')
        .limit(1)
        .executeTakeFirst();
      // Later than the one that it replaces, also within a millisecond.
      const afterLatest = latest === undefined ? 0 : Date.parse(latest.at) + 1;
      const judgedAt = new Date(Math.max(this.clock.now(), afterLatest)).toISOString();
      await recordChanges(tx, [
        { tenantId, at: judgedAt, kind: KIND, targetId: decisionId, author, reason: reason || undefined, after },
      ]);
      return judgedAt;
    });
    return { decisionId, judgement, by: signatureOf(author), at, ...(reason ? { reason } : {}) };
  }
}

interface Range {
  readonly from: string;
  readonly to: string | undefined;
  readonly ruleId: string | undefined;
  readonly agentId: string | undefined;
}

async function groupRows(db: ReadOnly, tenantId: string, { from, to, ruleId, agentId }: Range): Promise<GroupRow[]> {
  const { rows } = await sql<GroupRow>`
    with refused as materialized (
      select d.decision_id, d.run_id, d.agent_id, d.tool_name, d.call_id, d.decided_at, d.reason, d.final_rule_id,
        d.arguments,
        (select (f->>'ruleVersion')::int from jsonb_array_elements(d.evaluated_rules) f
          where f->>'ruleId' = d.final_rule_id limit 1) as rule_version
      from decisions d
      where d.tenant_id = ${tenantId} and d.effect <> 'allow' and d.verdict = 'BLOCK' and not d.asked_again
        and d.cause->>'kind' <> 'HITL_PENDING' and d.decided_at >= ${from}::timestamptz
        ${to === undefined ? sql`` : sql`and d.decided_at <= ${to}::timestamptz`}
        ${ruleId === undefined ? sql`` : sql`and d.final_rule_id = ${ruleId}`}
        ${agentId === undefined ? sql`` : sql`and d.agent_id = ${agentId}`}
      order by d.decided_at desc limit ${sql.lit(MAX_REFUSALS)}
    ),
    told as (
      select r.*, runs.actor_id, judged.after->>'judgement' as judgement,
        case when judged.entry_id is not null then jsonb_build_object('after', judged.after, 'reason', judged.reason,
          'by', coalesce(judged.person, judged.key_name, judged.key_id), 'at', judged.at) end as judged,
        row_number() over (partition by r.final_rule_id, r.rule_version, r.reason order by r.decided_at desc, r.decision_id)
          as nth
      from refused r
      left join runs on runs.tenant_id = ${tenantId} and runs.run_id = r.run_id
      left join lateral (
        select * from audit_entries a
        where a.tenant_id = ${tenantId} and a.target_id = r.decision_id and a.kind = ${KIND}
        order by a.at desc, a.entry_id desc limit 1
      ) judged on true
    )
    select t.final_rule_id as rule_id, max(rules.name) as rule_name, t.rule_version, t.reason, count(*)::int as calls,
      count(distinct t.run_id)::int as runs, count(distinct t.actor_id)::int as actors,
      count(*) filter (where t.judgement = 'right')::int as "right",
      count(*) filter (where t.judgement = 'wrong')::int as wrong,
      min(t.decided_at) as first_at, max(t.decided_at) as last_at, (select count(*)::int from refused) as read,
      jsonb_agg(jsonb_build_object('decisionId', t.decision_id, 'at', t.decided_at, 'runId', t.run_id,
        'agentId', t.agent_id, 'actor', t.actor_id, 'toolName', t.tool_name, 'callId', t.call_id,
        'arguments', t.arguments, 'judged', t.judged) order by t.nth) filter (where t.nth <= ${sql.lit(MAX_NEWEST)}) as newest
    from told t
    left join guardrail_rules rules on rules.tenant_id = ${tenantId} and rules.rule_id = t.final_rule_id
    group by t.final_rule_id, t.rule_version, t.reason
    order by calls desc, last_at desc limit ${sql.lit(MAX_GROUPS)}`.execute(db);
  return rows;
}

function groupFromRow(row: GroupRow): RefusalGroup {
  const { calls, runs, actors, right, wrong } = row;
  return {
    ...(row.rule_id === null ? {} : { ruleId: row.rule_id }),
    ...(row.rule_name === null ? {} : { ruleName: row.rule_name }),
    ...(row.rule_version === null ? {} : { ruleVersion: row.rule_version }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...{ calls, runs, actors, right, wrong, firstAt: row.first_at, lastAt: row.last_at },
    newest: row.newest.map(({ actor, toolName, callId, arguments: args, judged, at, ...rest }) => ({
      ...rest,
      at: new Date(at).toISOString(),
      ...(actor === null ? {} : { actor }),
      ...(toolName === null ? {} : { toolName }),
      ...(callId === null ? {} : { callId }),
      arguments: argumentLine(args),
      ...(judged === null
        ? {}
        : {
            judged: {
              ...{ judgement: judged.after.judgement, by: judged.by, at: new Date(judged.at).toISOString() },
              ...(judged.reason === null ? {} : { reason: judged.reason }),
            },
          }),
    })),
  };
}

@Controller()
export class RefusalsController {
  constructor(
    private readonly refusals: Refusals,
    private readonly names: KeyNames,
  ) {}

  @Serves(listRefusals)
  list(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof listRefusals>) {
    return this.refusals.list(tenantId, query);
  }

  @Serves(judgeRefusal)
  async judge(@CurrentCaller() caller: Caller, @FromRequest() { params, body }: RequestOf<typeof judgeRefusal>) {
    const { author } = await this.names.authorOf(caller);
    return this.refusals.judge(caller.tenantId, params.id, body, author);
  }
}
