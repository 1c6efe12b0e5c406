import type { GuardrailRule, JsonObject } from '@agentlens/contracts';
import { type GuardrailRulesTable, ruleFromRow } from '@agentlens/database';
import { mapActionSecrets, maskSecret, passesUnasked, passesUnread } from '@agentlens/guardrails';
import { RULES_LIST, type RuleChangeHeaders, type RuleFilter, type RuleView } from '@agentlens/operations';
import { type Clock, port, type SecretBox } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import type { z } from 'zod';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

/** Reads the preconditions of a rule change from the request headers. */
export function conditionsOf(headers: z.output<typeof RuleChangeHeaders>) {
  return { ifVersion: headers['if-match'], override: headers['x-agentlens-override'] };
}

function ruleViewOf(row: Selectable<GuardrailRulesTable>, secrets: SecretBox): RuleView {
  return masked(ruleFromRow(row), secrets);
}

/** Returns the rule with every secret of its action masked, whether the secret is sealed, plain or already masked. */
export function masked(rule: GuardrailRule, secrets: SecretBox): RuleView {
  const context = [rule.tenantId, 'guardrail_rules', rule.id];
  const actionConfig: JsonObject = mapActionSecrets(rule.actionType, rule.actionConfig, (text) =>
    maskSecret(opened(text, context, secrets)),
  );
  return { ...rule, actionConfig };
}

/** If a secret cannot be opened because its key is missing, the rule stays readable. */
function opened(text: string, context: readonly string[], secrets: SecretBox): string {
  if (!secrets.isSealed(text)) return text;
  try {
    return secrets.open(text, context);
  } catch {
    return '';
  }
}

/** Maximum number of a tenant's rules to scan in one request. */
const MAX_RULES = 5_000;

@Injectable()
export class RulesQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('secrets')) private readonly secrets: SecretBox,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async list(tenantId: string, filter: RuleFilter): Promise<Page<RuleView> & { total: number }> {
    if (filter.passesUnread !== undefined || filter.passesUnasked !== undefined)
      return this.#byPassing(tenantId, filter);
    const { rows, total } = await this.reads.read(tenantId, async (db) => ({
      rows: await pageRows(db, tenantId, filter),
      total: await totalOf(db, tenantId, filter),
    }));
    const page = pageOf(
      RULES_LIST,
      rows,
      filter.limit,
      (row) => ({ at: row.created_at, id: row.rule_id }),
      (row) => ruleViewOf(row, this.secrets),
    );
    return { ...page, total };
  }

  /** Filters in memory, because what a rule reads depends on its condition, which SQL cannot inspect. */
  async #byPassing(tenantId: string, filter: RuleFilter): Promise<Page<RuleView> & { total: number }> {
    const rows = await this.reads.read(tenantId, (db) =>
      matching(db, tenantId, filter).selectAll().limit(MAX_RULES).execute(),
    );
    const rules = rows.map((row) => ruleViewOf(row, this.secrets));
    const nowMs = this.clock.now();
    const items = rules.filter(
      (rule) =>
        (filter.passesUnread === undefined || passesUnread(rule, nowMs) === filter.passesUnread) &&
        (filter.passesUnasked === undefined || passesUnasked(rule, nowMs) === filter.passesUnasked),
    );
    return { items: items.slice(0, filter.limit), hasMore: items.length > filter.limit, total: items.length };
  }

  async get(tenantId: string, ruleId: string): Promise<RuleView | undefined> {
    const row = await this.reads.read(tenantId, (db) =>
      live(db, tenantId).selectAll().where('rule_id', '=', ruleId).executeTakeFirst(),
    );
    return row && ruleViewOf(row, this.secrets);
  }

  /** Also true for a deleted rule, because its history remains. */
  async everExisted(tenantId: string, ruleId: string): Promise<boolean> {
    const row = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('guardrail_rules')
        .select('rule_id')
        .where('tenant_id', '=', tenantId)
        .where('rule_id', '=', ruleId)
        .executeTakeFirst(),
    );
    return row !== undefined;
  }
}

function live(db: ReadOnly, tenantId: string) {
  return db.selectFrom('guardrail_rules').where('tenant_id', '=', tenantId).where('deleted_at', 'is', null);
}

function pageRows(db: ReadOnly, tenantId: string, filter: RuleFilter) {
  let query = matching(db, tenantId, filter).selectAll();
  if (filter.cursor !== undefined) {
    query = query.where(sql<boolean>`(created_at, rule_id) < (${filter.cursor.at}::timestamptz, ${filter.cursor.id})`);
  }
  return query
    .orderBy('created_at', 'desc')
    .orderBy('rule_id', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}

async function totalOf(db: ReadOnly, tenantId: string, filter: RuleFilter): Promise<number> {
  const counted = matching(db, tenantId, filter).select((eb) => eb.fn.countAll<number>().as('total'));
  return (await counted.executeTakeFirstOrThrow()).total;
}

function matching(db: ReadOnly, tenantId: string, filter: RuleFilter) {
  let query = live(db, tenantId);
  const { agentId } = filter;
  if (agentId !== undefined) {
    query = query.where((eb) => eb.or([eb('agent_id', '=', agentId), eb('agent_id', 'is', null)]));
  }
  if (filter.enabled !== undefined) query = query.where('enabled', '=', filter.enabled);
  if (filter.conditionType !== undefined) query = query.where('condition_type', '=', filter.conditionType);
  if (filter.actionType !== undefined) query = query.where('action_type', '=', filter.actionType);
  return query;
}
