import type { GuardrailRule } from '@agentlens/contracts';
import { type Database, type GuardrailRulesTable, lockUntilEnd, ruleFromRow, type Tables } from '@agentlens/database';
import { decidesCalls } from '@agentlens/guardrails';
import { type Kysely, type Selectable, sql } from 'kysely';
import { type RuleStore, RuleTransaction, storedOf } from './rule-transaction.ts';

/** Marks that a rule exists in this version, or was deleted. */
export interface RuleMark {
  readonly tenantId: string;
  readonly ruleId: string;
  readonly version: number;
  readonly deleted: boolean;
  readonly updatedAt: string;
}

/** The table `guardrail_rules`. This service is its only writer. Deleted rules are kept and marked. */
export class RulesRepository implements RuleStore {
  readonly #db: Kysely<Tables>;

  constructor({ db }: Pick<Database, 'db'>) {
    this.#db = db;
  }

  /** Every rule of every tenant that is not deleted, without the configs of actions that other services carry out. */
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
   * The rules of a tenant, and those whose current version is not in `held`, read at one point in time. A change of one
   * rule reads one rule, regardless of how many there are.
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

  /** Rules of all tenants that changed at or after an instant. */
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

  /**
   * Changes the rules of one tenant: stores everything that `work` stores, or nothing. Changes of one tenant are
   * serialised.
   */
  async change<T>(tenantId: string, work: (rules: RuleTransaction) => Promise<T>): Promise<T> {
    return this.#db.transaction().execute(async (transaction) => {
      await lockUntilEnd(transaction, 'rules', tenantId);
      return work(new RuleTransaction(transaction, tenantId));
    });
  }
}

/**
 * Keeps the action config only if the evaluator carries out the action. Nothing else stays in memory, least of all
 * secrets.
 */
function evaluated(row: Selectable<GuardrailRulesTable>): GuardrailRule {
  return ruleFromRow(decidesCalls(row.action_type) ? row : { ...row, action_config: {} });
}
