import type { Client } from '@agentlens/client';
import { z } from 'zod';
import { pick } from '../answer.ts';
import type { McpSession } from '../session.ts';
import { AGENT, actionsWith, type Confirmation, type McpTool, PAGE, RANGE, RULE, USUAL_LIMIT, words } from '../tool.ts';

type Rule = Awaited<ReturnType<Client['getRule']>>;
type Trigger = Awaited<ReturnType<Client['listTriggers']>>['triggers'][number];

const RECENT = 10;
/** For an inactive rule only its activation matters. */
const NEUTRAL_FIELDS = ['name', 'description'];

const fields = {
  ...AGENT,
  ...RULE,
  ...RANGE,
  ...PAGE,
  enabled: z.boolean(),
  result: words.describe('e.g. success,failed'),
  rule: z
    .record(z.string(), z.unknown())
    .describe(
      'name, description, conditionType, conditionConfig, actionType, actionConfig, agentId, cooldownMinutes, mode (shadow|enforce), priority, selector. Types and configs: agentlens_catalog',
    ),
};
const action = actionsWith(fields);

export const guardrails: McpTool = {
  name: 'guardrails',
  title: 'Guardrail rules',
  description:
    'Rules that watch and stop agents. status: active rules, their results, recent triggers. backtest: what a draft would have stopped. A new rule is in shadow mode (only counts) unless mode is enforce.',
  fields,
  actions: {
    status: action({
      scope: 'read',
      takes: ['agentId', 'ruleId', 'limit'],
      run: async (session, { agentId, ruleId, limit }) =>
        ruleId === undefined
          ? { value: await statusOfAll(session, agentId, limit), path: '/guardrails' }
          : statusOf(session, ruleId),
    }),
    list: action({
      scope: 'read',
      takes: ['agentId', 'enabled', 'limit', 'cursor'],
      run: async ({ client }, { agentId, enabled, cursor, limit = USUAL_LIMIT }) => ({
        ...{ list: 'rules', limit, summary: ruleSummary, path: '/guardrails' },
        ask: (most) => client.listRules({ query: { agentId, enabled, cursor, limit: most } }),
      }),
    }),
    get: action({
      scope: 'read',
      needs: ['ruleId'],
      run: async ({ client }, { ruleId }) => ({
        value: { rule: await client.getRule({ params: { id: ruleId } }) },
        path: rulePath(ruleId),
      }),
    }),
    history: action({
      scope: 'read',
      takes: ['ruleId', 'agentId', 'from', 'to', 'result', 'limit', 'cursor'],
      run: async ({ client }, { limit = USUAL_LIMIT, ruleId, agentId, from, to, result, cursor }) => ({
        ...{ list: 'triggers', limit, summary: triggerSummary, path: ruleId ? rulePath(ruleId) : '/guardrails' },
        ask: (most) => client.listTriggers({ query: { ruleId, agentId, from, to, result, cursor, limit: most } }),
      }),
    }),
    validate: action({
      scope: 'read',
      needs: ['rule'],
      run: async ({ client }, { rule }) => {
        const { valid, details: problems, hint } = await client.validateRule({ body: rule });
        return { value: { valid, problems, hint }, path: '/guardrails' };
      },
    }),
    backtest: action({
      scope: 'admin',
      needs: ['rule'],
      takes: ['ruleId', 'from', 'to'],
      run: async ({ client }, { rule, ruleId, from, to }) => {
        const body = { rule: drafted(rule), ...(ruleId && { ruleId }), ...(from && { from }), ...(to && { to }) };
        const { id } = await client.createBacktest({ body });
        const backtest = await finished(client, id);
        return { value: { backtest }, path: '/guardrails' };
      },
    }),
    create: action({
      scope: 'admin',
      needs: ['rule'],
      confirm: async (_session, { rule }) =>
        isInForce(drafted(rule)) ? enforcing(`the new rule ${quoted(rule.name)}`) : undefined,
      run: async ({ client }, { rule }) => {
        const made = await client.createRule({ body: drafted(rule) as never });
        return { value: { rule: made }, path: rulePath(made.id) };
      },
    }),
    update: action({
      scope: 'admin',
      needs: ['ruleId', 'rule'],
      confirm: async ({ client }, { ruleId, rule: changes }) => {
        const rule = await client.getRule({ params: { id: ruleId } });
        const changed = Object.keys(changes).filter((field) => !NEUTRAL_FIELDS.includes(field));
        if (changed.length === 0) return undefined;
        const after = { ...rule, ...changes };
        if (!isInForce(rule)) return isInForce(after) ? enforcing(`the rule ${quoted(rule.name)}`) : undefined;
        return { question: `Change ${changed.join(', ')} of the active rule ${quoted(rule.name)}?` };
      },
      run: async (session, { ruleId, rule }) => changed(session, ruleId, rule),
    }),
    enable: action({
      scope: 'admin',
      needs: ['ruleId'],
      confirm: async ({ client }, { ruleId }) => {
        const rule = await client.getRule({ params: { id: ruleId } });
        return isInForce({ ...rule, enabled: true }) ? enforcing(`the rule ${quoted(rule.name)}`) : undefined;
      },
      run: async (session, { ruleId }) => changed(session, ruleId, { enabled: true }),
    }),
    disable: action({
      scope: 'admin',
      needs: ['ruleId'],
      confirm: async (session, { ruleId }) => ({ question: `Disable ${await named(session, ruleId)}?` }),
      run: async (session, { ruleId }) => changed(session, ruleId, { enabled: false }),
    }),
    delete: action({
      scope: 'admin',
      needs: ['ruleId'],
      confirm: async (session, { ruleId }) => ({
        question: `Delete ${await named(session, ruleId)}? This cannot be undone.`,
      }),
      run: async ({ client }, { ruleId }) => {
        await client.deleteRule({ params: { id: ruleId } });
        return { value: { deleted: ruleId }, path: '/guardrails' };
      },
    }),
  },
};

async function statusOf({ client }: McpSession, ruleId: string) {
  const { rule, state, agents, recentTriggers } = await client.getRuleStatus({ params: { id: ruleId } });
  return { value: { rule, state, agents, triggers: recentTriggers.map(triggerSummary) }, path: rulePath(ruleId) };
}

/** @param limit rules and triggers to show; omitted: every active rule, and the latest triggers */
async function statusOfAll({ client }: McpSession, agentId: string | undefined, limit: number | undefined) {
  const [{ rules, total }, { summaries }, { triggers }] = await Promise.all([
    client.listRules({ query: { agentId, enabled: true, limit: limit ?? 50 } }),
    client.listRuleSummaries(),
    client.listTriggers({ query: { agentId, limit: Math.min(limit ?? RECENT, RECENT) } }),
  ]);
  const byRule = new Map(summaries.map((summary) => [summary.ruleId, summary]));
  const active = rules.map((rule) => {
    const { fired, wouldHave, lastAt, highest, degradedReason } = byRule.get(rule.id) ?? {};
    const last7Days = { fired: sum(fired), wouldHave: sum(wouldHave), lastAt };
    return { ...ruleSummary(rule), last7Days, highest, degradedReason };
  });
  return { activeRules: total, rules: active, triggers: triggers.map(triggerSummary) };
}

const BACKTEST_POLL_MS = 500;
/** A longer backtest is returned unfinished; its id finds it again. */
const MAX_BACKTEST_POLLS = 40;

async function finished(client: Client, id: string) {
  for (let polls = 0; ; polls++) {
    const job = await client.getBacktest({ params: { id } });
    if (!['queued', 'running'].includes(job.status) || polls >= MAX_BACKTEST_POLLS) return job;
    await new Promise((resolve) => setTimeout(resolve, BACKTEST_POLL_MS));
  }
}

async function changed({ client }: McpSession, ruleId: string, changes: object) {
  const rule = await client.updateRule({ params: { id: ruleId }, body: changes as never });
  return { value: { rule }, path: rulePath(ruleId) };
}

async function named({ client }: McpSession, ruleId: string): Promise<string> {
  const rule = await client.getRule({ params: { id: ruleId } });
  return `the rule ${quoted(rule.name)} (${isInForce(rule) ? 'in force' : 'inactive'})`;
}

/** A rule drafted by an agent starts in shadow mode. */
function drafted(rule: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return rule.mode === undefined && rule.dryRun === undefined ? { ...rule, mode: 'shadow' } : rule;
}

function isInForce({ enabled, mode, dryRun }: { enabled?: unknown; mode?: unknown; dryRun?: unknown }): boolean {
  return enabled !== false && mode !== 'shadow' && mode !== 'off' && dryRun !== true;
}

function enforcing(what: string): Confirmation {
  return { question: `Enforce ${what}? It then acts on agents.` };
}

function quoted(name: unknown): string {
  return (JSON.stringify(name) ?? 'without a name').slice(0, 200);
}

function ruleSummary(rule: Rule) {
  return pick(
    rule,
    'id',
    'name',
    'enabled',
    'mode',
    'dryRun',
    'conditionType',
    'conditionConfig',
    'actionType',
    'agentId',
    'version',
  );
}

function triggerSummary(trigger: Trigger) {
  const { message, dryRun, sessionId: runId } = trigger.metadata;
  const shown = pick(
    trigger,
    'id',
    'ruleId',
    'ruleName',
    'agentId',
    'triggeredAt',
    'conditionValue',
    'conditionThreshold',
    'actionType',
    'actionResult',
    'actionDetail',
  );
  return { ...shown, runId, dryRun, message };
}

function rulePath(ruleId: string): string {
  return `/guardrails/${encodeURIComponent(ruleId)}`;
}

function sum(counts: readonly number[] = []): number {
  return counts.reduce((total, count) => total + count, 0);
}

const catalogFields = { kind: z.enum(['condition', 'action']), type: z.string().describe('e.g. cost_limit') };
const catalogAction = actionsWith(catalogFields);

export const catalog: McpTool = {
  name: 'catalog',
  title: 'Types of conditions and actions',
  description: 'Conditions and actions of rules. With type: the JSON Schema of its configuration and an example.',
  fields: catalogFields,
  actions: {
    list: catalogAction({
      scope: 'read',
      takes: ['kind', 'type'],
      run: async ({ client }, { kind, type }) => {
        const all = await client.getRuleCatalog();
        const conditions = kind === 'action' ? [] : all.conditions;
        const actions = kind === 'condition' ? [] : all.actions;
        if (type === undefined) {
          const listed = { conditions: conditions.map(catalogEntry), actions: actions.map(catalogEntry) };
          return { value: listed, path: '/guardrails' };
        }
        const found = [...conditions, ...actions].filter((one) => one.type === type);
        const known = [...conditions, ...actions].map((one) => one.type);
        return { value: found.length > 0 ? { found } : { found, known }, path: '/guardrails' };
      },
    }),
  },
};

function catalogEntry(one: { readonly type: string; readonly title: string; readonly phases: readonly string[] }) {
  return pick(one, 'type', 'title', 'phases');
}
