import { type GuardrailRule, type RulesChanged, rulesChanged } from '@agentlens/contracts';
import { type Database, type GuardrailRulesTable, ruleFromRow, type Tables } from '@agentlens/database';
import { ACTIONS } from '@agentlens/guardrails';
import { type Kysely, type Selectable, sql } from 'kysely';
import type { OtherRules } from './pattern-quota.ts';

export const WRITER = 'guardrail-evaluator';

/** That a rule exists in this version, or was deleted. */
export interface RuleMark {
  readonly tenantId: string;
  readonly ruleId: string;
  readonly version: number;
  readonly deleted: boolean;
  readonly updatedAt: string;
}

/** The table `guardrail_rules`, whose only writer this service is. Deleted rules stay, marked. */
export class RulesRepository {
  readonly #db: Kysely<Tables>;

  constructor({ db }: Pick<Database, 'db'>) {
    this.#db = db;
  }

  /** Every rule of every tenant that is not deleted; without the configs of actions that are carried out elsewhere. */
  async all(): Promise<GuardrailRule[]> {
    const rows = await this.#db.selectFrom('guardrail_rules').selectAll().where('deleted_at', 'is', null).execute();
    return rows.map((row) => evaluated(row));
  }

  /** The same for one tenant. */
  async ofTenant(tenantId: string): Promise<GuardrailRule[]> {
    const rows = await storedOf(this.#db, tenantId).selectAll().execute();
    return rows.map((row) => evaluated(row));
  }

  /**
   * Which rules a tenant has, and those of them that are not held in the version they have now, as of one moment: a change
   * of one rule costs reading one rule, however many there are.
   */
  async differences(
    tenantId: string,
    held: ReadonlyMap<string, { readonly version: number }>,
  ): Promise<{ readonly ids: readonly string[]; readonly changed: readonly GuardrailRule[] }> {
    const transaction = this.#db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only');
    return transaction.execute(async (moment) => {
      const stored = storedOf(moment, tenantId);
      const all = await stored.select(['rule_id', 'version']).execute();
      const ids = all.map(({ rule_id }) => rule_id);
      const other = all.filter(({ rule_id, version }) => held.get(rule_id)?.version !== version);
      if (other.length === 0) return { ids, changed: [] };
      const changedIds = other.map(({ rule_id }) => rule_id);
      const rows = await stored.selectAll().where(sql<boolean>`rule_id = any(${changedIds}::text[])`).execute();
      return { ids, changed: rows.map((row) => evaluated(row)) };
    });
  }

  /** Rules of all tenants changed at or after an instant. */
  async changedSince(instant: string): Promise<RuleMark[]> {
    const rows = await this.#db
      .selectFrom('guardrail_rules')
      .select(['tenant_id', 'rule_id', 'version', 'deleted_at', 'updated_at'])
      .where('updated_at', '>=', instant)
      .execute();
    return rows.map((row) => ({
      tenantId: row.tenant_id,
      ruleId: row.rule_id,
      version: row.version,
      deleted: row.deleted_at !== null,
      updatedAt: row.updated_at,
    }));
  }

  /** Inserts the rules of one tenant all at once, or none of them where `refused` says why not. At least one. */
  async insert<R>(
    rules: readonly GuardrailRule[],
    refused: (others: OtherRules) => Promise<R | null>,
  ): Promise<R | null> {
    return this.#db.transaction().execute(async (transaction) => {
      const refusal = await refused(() => others(transaction, rules[0]?.tenantId ?? ''));
      if (refusal !== null) return refusal;
      await transaction.insertInto('guardrail_rules').values(rules.map(rowOf)).execute();
      const last = rules.at(-1);
      // One notice is enough: whoever gets it looks for all that changed of the tenant.
      if (last !== undefined) await announce(transaction, last.tenantId, last.updatedAt, last.id, last.version);
      return null;
    });
  }

  /**
   * Replaces a rule by what `change` makes of it, or leaves it where `change` answers null. Two changes at once follow
   * each other. Null: no such rule.
   */
  async update<T>(
    tenantId: string,
    ruleId: string,
    change: (
      existing: GuardrailRule,
      others: OtherRules,
    ) => Promise<{ readonly rule: GuardrailRule | null; readonly answer: T }>,
  ): Promise<T | null> {
    return this.#db.transaction().execute(async (transaction) => {
      const row = await storedOf(transaction, tenantId)
        .selectAll()
        .where('rule_id', '=', ruleId)
        .forUpdate()
        .executeTakeFirst();
      if (row === undefined) return null;
      const { rule, answer } = await change(ruleFromRow(row), () => others(transaction, tenantId));
      if (rule === null) return answer;
      await transaction
        .updateTable('guardrail_rules')
        .set(rowOf(rule))
        .where('tenant_id', '=', tenantId)
        .where('rule_id', '=', ruleId)
        .execute();
      await announce(transaction, tenantId, rule.updatedAt, rule.id, rule.version);
      return answer;
    });
  }

  /** False: no such rule. */
  async markDeleted(tenantId: string, ruleId: string, at: string): Promise<boolean> {
    return this.#db.transaction().execute(async (transaction) => {
      const row = await transaction
        .updateTable('guardrail_rules')
        .set((eb) => ({ deleted_at: at, updated_at: at, version: eb('version', '+', 1) }))
        .where('tenant_id', '=', tenantId)
        .where('rule_id', '=', ruleId)
        .where('deleted_at', 'is', null)
        .returning('version')
        .executeTakeFirst();
      if (row === undefined) return false;
      await announce(transaction, tenantId, at, ruleId, row.version);
      return true;
    });
  }
}

/** A tenant's rules; whoever else asks for them waits until this transaction is over. */
async function others(transaction: Kysely<Tables>, tenantId: string): Promise<GuardrailRule[]> {
  await sql`select pg_advisory_xact_lock(hashtext(${`agentlens:rules:${tenantId}`}))`.execute(transaction);
  const rows = await storedOf(transaction, tenantId).selectAll().execute();
  return rows.map(ruleFromRow);
}

/** The rules of a tenant that are not deleted. */
function storedOf(db: Kysely<Tables>, tenantId: string) {
  return db.selectFrom('guardrail_rules').where('tenant_id', '=', tenantId).where('deleted_at', 'is', null);
}

/** What evaluation is part of needs its config; nothing else is held in memory, least of all secrets. */
function evaluated(row: Selectable<GuardrailRulesTable>): GuardrailRule {
  const decides = ACTIONS.get(row.action_type)?.phases[0] === 'decision';
  return ruleFromRow(decides ? row : { ...row, action_config: {} });
}

/** The notice to every evaluator, made true together with the change itself. */
async function announce(db: Kysely<Tables>, tenantId: string, at: string, ruleId: string, version: number) {
  const change: RulesChanged = { tenantId, at, version: `${ruleId}:${version}` };
  await db
    .insertInto('outbox')
    .values({ writer: WRITER, topic: rulesChanged.name, body: JSON.stringify(change), created_at: at })
    .execute();
}

function rowOf(rule: GuardrailRule) {
  return {
    tenant_id: rule.tenantId,
    rule_id: rule.id,
    version: rule.version,
    name: rule.name,
    description: rule.description ?? null,
    enabled: rule.enabled,
    condition_type: rule.conditionType,
    condition_config: JSON.stringify(rule.conditionConfig),
    action_type: rule.actionType,
    action_config: JSON.stringify(rule.actionConfig),
    agent_id: rule.agentId ?? null,
    cooldown_minutes: rule.cooldownMinutes,
    dry_run: rule.dryRun,
    direction: rule.direction,
    tool_names: rule.toolNames ?? null,
    priority: rule.priority,
    mode: rule.mode,
    on_missing: rule.onMissing,
    on_unavailable: rule.onUnavailable,
    selector: rule.selector === undefined ? null : JSON.stringify(rule.selector),
    policy_id: rule.policyId ?? null,
    created_at: rule.createdAt,
    updated_at: rule.updatedAt,
    deleted_at: null,
  };
}
