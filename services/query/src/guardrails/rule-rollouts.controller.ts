import { COMMANDS, type GuardrailRule } from '@agentlens/contracts';
import { ruleFigures } from '@agentlens/database';
import { decidesCalls, guardOf, ratesOf, unmetGuard } from '@agentlens/guardrails';
import { getRuleRollout, promoteRule, type RequestOf, type RuleRollout, suspendRule } from '@agentlens/operations';
import { type Caller, type Clock, CurrentCaller, FromRequest, port, type SecretBox, Serves } from '@agentlens/platform';
import { Controller, Inject } from '@nestjs/common';
import { sql } from 'kysely';
import { Commands } from '../http/commands.ts';
import { foundOr404, type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { conditionsOf, masked, RulesQueries } from './rules.queries.ts';

const MAX_ROLLBACKS = 10;
const MAX_DAYS = 30;

/** Shows how a rule fares and moves it between its modes. */
@Controller()
export class RuleRolloutsController {
  constructor(
    private readonly rules: RulesQueries,
    private readonly reads: TenantReads,
    private readonly commands: Commands,
    private readonly names: KeyNames,
    @Inject(port('secrets')) private readonly secrets: SecretBox,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  @Serves(getRuleRollout)
  async get(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { params: { id } }: RequestOf<typeof getRuleRollout>,
  ) {
    const rule = foundOr404('Guardrail rule', await this.rules.get(tenantId, id));
    return this.reads.read(tenantId, (db) => rolloutOf(db, rule, this.clock.now()));
  }

  @Serves(promoteRule)
  async promote(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id: ruleId }, headers, body: promotion }: RequestOf<typeof promoteRule>,
  ) {
    const authorship = await this.names.authorOf(caller);
    const question = { tenantId: caller.tenantId, ruleId, ...conditionsOf(headers), ...authorship, promotion };
    return masked(await this.commands.forward(COMMANDS.promoteRule, question), this.secrets);
  }

  @Serves(suspendRule)
  async suspend(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id: ruleId }, headers, body: { until, reason } }: RequestOf<typeof suspendRule>,
  ) {
    const authorship = await this.names.authorOf(caller);
    const suspended = until === null ? null : { until: new Date(until).toISOString(), reason };
    const question = { tenantId: caller.tenantId, ruleId, ...conditionsOf(headers), ...authorship, reason, suspended };
    return masked(await this.commands.forward(COMMANDS.suspendRule, question), this.secrets);
  }
}

async function rolloutOf(db: ReadOnly, rule: GuardrailRule, nowMs: number): Promise<RuleRollout> {
  const { tenantId, id: ruleId, version, mode } = rule;
  const { since, ...figures } = await ruleFigures(db, rule);
  const rollbacks = await db
    .selectFrom('rule_versions')
    .select(['version', 'changed_at', 'reason'])
    .where('tenant_id', '=', tenantId)
    .where('rule_id', '=', ruleId)
    .where('source', '=', 'rollback')
    .orderBy('version', 'desc')
    .limit(MAX_ROLLBACKS)
    .execute();
  const unmet = unmetGuard(
    guardOf(rule, decidesCalls(rule.actionType)),
    { ...figures, sinceMs: Date.parse(since) },
    nowMs,
  );
  return {
    ...{ ruleId, version, mode, since, ...figures, ...ratesOf(figures) },
    ...(mode === 'canary' && rule.rollout !== undefined ? { percent: rule.rollout.percent } : {}),
    byDay: await daysOf(db, tenantId, ruleId),
    guard: { ok: unmet.length === 0, unmet },
    rollbacks: rollbacks.map((one) => ({ version: one.version, at: one.changed_at, reason: one.reason ?? '' })),
  };
}

async function daysOf(db: ReadOnly, tenantId: string, ruleId: string): Promise<RuleRollout['byDay']> {
  const { rows } = await sql<RuleRollout['byDay'][number]>`
    select day, asked, blocked + asked_human as stopped, would_have as "wouldStop" from rule_daily
    where tenant_id = ${tenantId} and rule_id = ${ruleId} order by day desc limit ${MAX_DAYS}`.execute(db);
  return rows;
}
