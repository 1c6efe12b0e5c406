import {
  type AuditedChange,
  type FieldChange,
  type GuardrailRule,
  type RuleChangeAuthor,
  type RuleChangeSource,
  type RuleDrift,
  type RulesChanged,
  rulesChanged,
} from '@agentlens/contracts';
import {
  driftFromRow,
  type RuleVersionsTable,
  recordChanges,
  ruleFigures,
  ruleFromRow,
  type Tables,
} from '@agentlens/database';
import type { RuleFigures } from '@agentlens/guardrails';
import { type Kysely, type Selectable, sql } from 'kysely';
import { WRITER } from '../settings/announce-settings.ts';

/** Rows per statement. Postgres accepts at most 65,535 values. */
const ROWS_AT_ONCE = 500;

/** A version of a rule as it is stored: with sealed secrets and the differences from the previous version. */
export interface RuleRevision extends RuleChangeAuthor {
  readonly rule: GuardrailRule;
  readonly deleted: boolean;
  readonly changes: readonly FieldChange[];
  readonly source: RuleChangeSource;
  /** The versions shown in the audit log, with masked secrets. */
  readonly shown: { readonly before?: GuardrailRule; readonly after?: GuardrailRule };
}

/** A recorded version of a rule. */
export interface RecordedVersion {
  readonly ruleId: string;
  readonly deleted: boolean;
  readonly drift: RuleDrift;
}

/** The rules of one tenant within one change. */
export type TenantRules = Pick<
  RuleTransaction,
  'all' | 'find' | 'findVersion' | 'changesSince' | 'figures' | 'lastOfKeys' | 'settle' | 'store'
>;

/** Changes rules: stores everything that `work` stores, or nothing. Changes of one tenant are serialised. */
export interface RuleStore {
  change<T>(tenantId: string, work: (rules: TenantRules) => Promise<T>): Promise<T>;
}

/** One change of a tenant's rules. What it reads does not change until the change is done. */
export class RuleTransaction {
  readonly #db: Kysely<Tables>;
  readonly #tenantId: string;

  constructor(db: Kysely<Tables>, tenantId: string) {
    this.#db = db;
    this.#tenantId = tenantId;
  }

  /** All rules of the tenant that are not deleted, with sealed secrets. */
  async all(): Promise<GuardrailRule[]> {
    const rows = await storedOf(this.#db, this.#tenantId).selectAll().execute();
    return rows.map(ruleFromRow);
  }

  /** Returns null if the rule does not exist or was deleted. */
  async find(ruleId: string): Promise<GuardrailRule | null> {
    const row = await storedOf(this.#db, this.#tenantId)
      .selectAll()
      .where('rule_id', '=', ruleId)
      .forUpdate()
      .executeTakeFirst();
    return row === undefined ? null : ruleFromRow(row);
  }

  /** A version of a rule, with sealed secrets; null if that version is not recorded. */
  async findVersion(ruleId: string, version: number): Promise<GuardrailRule | null> {
    const row = await this.#db
      .selectFrom('rule_versions')
      .select('body')
      .where('tenant_id', '=', this.#tenantId)
      .where('rule_id', '=', ruleId)
      .where('version', '=', version)
      .executeTakeFirst();
    return row === undefined ? null : (row.body as unknown as GuardrailRule);
  }

  /** What a decision rule did since its meaning last changed. */
  async figures(rule: GuardrailRule): Promise<RuleFigures> {
    const { since, ...figures } = await ruleFigures(this.#db, { ...rule, tenantId: this.#tenantId });
    return { ...figures, sinceMs: Date.parse(since) };
  }

  /** The recorded changes of each rule after the given version, oldest first. */
  async changesSince(versions: ReadonlyMap<string, number>): Promise<readonly RecordedVersion[]> {
    const ids = [...versions.keys()];
    const least = [...versions.values()];
    const { rows } = await sql<Selectable<RuleVersionsTable>>`
      select v.* from rule_versions v
      join unnest(${ids}::text[], ${least}::integer[]) as since (rule_id, version) using (rule_id)
      where v.tenant_id = ${this.#tenantId} and v.version > since.version
      order by v.rule_id, v.version
    `.execute(this.#db);
    return rows.map((row) => ({ ruleId: row.rule_id, deleted: row.deleted, drift: driftFromRow(row) }));
  }

  /** The last version of each rule that had one of these keys, including deleted rules. */
  async lastOfKeys(keys: readonly string[]): Promise<ReadonlyMap<string, RecordedVersion>> {
    const { rows } = await sql<Selectable<RuleVersionsTable> & { key: string }>`
      select distinct on (body->>'key') body->>'key' as key, v.* from rule_versions v
      where tenant_id = ${this.#tenantId} and body->>'key' = any(${keys}::text[])
      order by body->>'key', changed_at desc, version desc
    `.execute(this.#db);
    return new Map(
      rows.map((row) => [row.key, { ruleId: row.rule_id, deleted: row.deleted, drift: driftFromRow(row) }]),
    );
  }

  /** Accepts what others changed, because it matches the ruleset. */
  async settle(ruleIds: readonly string[]): Promise<void> {
    await this.#db
      .updateTable('guardrail_rules')
      .set((eb) => ({ applied_version: eb.ref('version') }))
      .where('tenant_id', '=', this.#tenantId)
      .where(sql<boolean>`rule_id = any(${ruleIds}::text[])`)
      .execute();
  }

  /** Writes rules and their versions, and announces them together. */
  async store(revisions: readonly RuleRevision[]): Promise<void> {
    for (let from = 0; from < revisions.length; from += ROWS_AT_ONCE) {
      await this.#write(revisions.slice(from, from + ROWS_AT_ONCE));
    }
    const last = revisions.at(-1);
    // One notice is enough: its receivers look for all changes of the tenant.
    if (last !== undefined) await this.#announce(last.rule);
  }

  async #write(revisions: readonly RuleRevision[]): Promise<void> {
    const rows = revisions.map(rowOf);
    await this.#db
      .insertInto('guardrail_rules')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['tenant_id', 'rule_id']).doUpdateSet((eb) => ({
          version: eb.ref('excluded.version'),
          name: eb.ref('excluded.name'),
          description: eb.ref('excluded.description'),
          enabled: eb.ref('excluded.enabled'),
          condition_type: eb.ref('excluded.condition_type'),
          condition_config: eb.ref('excluded.condition_config'),
          action_type: eb.ref('excluded.action_type'),
          action_config: eb.ref('excluded.action_config'),
          agent_id: eb.ref('excluded.agent_id'),
          cooldown_minutes: eb.ref('excluded.cooldown_minutes'),
          dry_run: eb.ref('excluded.dry_run'),
          direction: eb.ref('excluded.direction'),
          tool_names: eb.ref('excluded.tool_names'),
          priority: eb.ref('excluded.priority'),
          mode: eb.ref('excluded.mode'),
          rollout: eb.ref('excluded.rollout'),
          promotion_guard: eb.ref('excluded.promotion_guard'),
          rollback: eb.ref('excluded.rollback'),
          suspended: eb.ref('excluded.suspended'),
          meaning_version: eb.ref('excluded.meaning_version'),
          on_missing: eb.ref('excluded.on_missing'),
          on_unavailable: eb.ref('excluded.on_unavailable'),
          selector: eb.ref('excluded.selector'),
          policy_id: eb.ref('excluded.policy_id'),
          key: eb.ref('excluded.key'),
          ruleset: eb.ref('excluded.ruleset'),
          applied_version: eb.ref('excluded.applied_version'),
          updated_at: eb.ref('excluded.updated_at'),
          deleted_at: eb.ref('excluded.deleted_at'),
        })),
      )
      .execute();
    await this.#db.insertInto('rule_versions').values(revisions.map(versionRowOf)).execute();
    await recordChanges(this.#db, revisions.map(auditedOf));
  }

  /** Announces the change to every evaluator, in the same transaction. */
  async #announce({ tenantId, id, version, updatedAt: at }: GuardrailRule): Promise<void> {
    const change: RulesChanged = { tenantId, at, version: `${id}:${version}` };
    await this.#db
      .insertInto('outbox')
      .values({ writer: WRITER, topic: rulesChanged.name, body: JSON.stringify(change), created_at: at })
      .execute();
  }
}

/** The rules of a tenant that are not deleted. */
export function storedOf(db: Kysely<Tables>, tenantId: string) {
  return db.selectFrom('guardrail_rules').where('tenant_id', '=', tenantId).where('deleted_at', 'is', null);
}

function versionRowOf({ rule, deleted, changes, source, by, reason }: RuleRevision) {
  return {
    tenant_id: rule.tenantId,
    rule_id: rule.id,
    version: rule.version,
    body: JSON.stringify(rule),
    changes: JSON.stringify(changes),
    deleted,
    source,
    changed_by: by ?? null,
    reason: reason ?? null,
    changed_at: rule.updatedAt,
  };
}

function auditedOf({ rule, shown, author, reason }: RuleRevision): AuditedChange {
  const verb = shown.before === undefined ? 'created' : shown.after === undefined ? 'deleted' : 'changed';
  const { tenantId, id: targetId, updatedAt: at } = rule;
  return { tenantId, at, kind: `rule.${verb}`, targetId, author, reason, ...shown };
}

function jsonOrNull(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

function rowOf({ rule, deleted }: RuleRevision) {
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
    rollout: jsonOrNull(rule.rollout),
    promotion_guard: jsonOrNull(rule.guard),
    rollback: jsonOrNull(rule.rollback),
    suspended: jsonOrNull(rule.suspended),
    meaning_version: rule.meaningVersion ?? null,
    on_missing: rule.onMissing,
    on_unavailable: rule.onUnavailable,
    selector: jsonOrNull(rule.selector),
    policy_id: rule.policyId ?? null,
    key: rule.key ?? null,
    ruleset: rule.ruleset ?? null,
    applied_version: rule.appliedVersion ?? null,
    created_at: rule.createdAt,
    updated_at: rule.updatedAt,
    deleted_at: deleted ? rule.updatedAt : null,
  };
}
