import type { GuardrailRule } from '@agentlens/contracts';
import { type Database, type GuardrailRulesTable, lockUntilEnd, ruleFromRow, type Tables } from '@agentlens/database';
import { ACTIONS } from '@agentlens/guardrails';
import { type Kysely, type Selectable, sql } from 'kysely';
import { type RuleStore, RuleTransaction, storedOf } from './rule-transaction.ts';

/** That a rule exists in this version, or was deleted. */
export interface RuleMark {
  readonly tenantId: string;
  readonly ruleId: string;
  readonly version: number;
  readonly deleted: boolean;
  readonly updatedAt: string;
}

/** The table `guardrail_rules`, whose only writer this service is. Deleted rules stay, marked. */
export class RulesRepository implements RuleStore {
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

  /** Changes rules of one tenant: everything that `work` stores, or nothing. Changes of a tenant follow each other. */
  async change<T>(tenantId: string, work: (rules: RuleTransaction) => Promise<T>): Promise<T> {
    return this.#db.transaction().execute(async (transaction) => {
      await lockUntilEnd(transaction, 'rules', tenantId);
      return work(new RuleTransaction(transaction, tenantId));
    });
  }
}

/** What evaluation is part of needs its config; nothing else is held in memory, least of all secrets. */
function evaluated(row: Selectable<GuardrailRulesTable>): GuardrailRule {
  const decides = ACTIONS.get(row.action_type)?.phases[0] === 'decision';
  return ruleFromRow(decides ? row : { ...row, action_config: {} });
}
