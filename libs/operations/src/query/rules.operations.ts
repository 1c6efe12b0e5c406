import {
  ClientId,
  DECISION_PHASES,
  DecisionEffect,
  Instant,
  JsonObject,
  RuleBypass,
  RuleDraft,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { consistent, Flag, IdPath, paging } from '../parameters.ts';
import { RuleChangeHeaders } from '../version-headers.ts';
import { RuleView } from './rule-view.ts';
import { TriggerView } from './trigger-view.ts';

export const RULES_LIST = 'rules';

const TypeName = z.string().regex(/^[a-z0-9_]{1,64}$/, 'must be a type name like error_rate_threshold');

export const RuleFilter = consistent(
  z.object({
    agentId: ClientId.optional().meta({
      description: 'The rules that guard this agent: those scoped to it and those without a scope.',
    }),
    enabled: Flag.optional(),
    conditionType: TypeName.optional(),
    actionType: TypeName.optional(),
    passesUnread: Flag.optional().meta({
      description:
        'Rules in force that let a call pass if an argument or result they look at is missing or unreadable (`onMissing: allow`).',
    }),
    ...paging(RULES_LIST, 500, 500),
  }),
);
export type RuleFilter = z.output<typeof RuleFilter>;

const Draft = RuleDraft.meta({
  id: 'GuardrailRuleDraft',
  description: 'The shapes of conditionConfig and actionConfig depend on their types: see GET /api/guardrails/catalog.',
});

const rulePath = { params: IdPath, tag: 'Guardrails' } as const;

export const createRule = operation({
  id: 'createRule',
  method: 'post',
  path: '/api/guardrails',
  tag: 'Guardrails',
  summary: 'Makes a rule. Secrets in actionConfig are encrypted at rest and never returned.',
  scope: 'admin',
  once: true,
  body: Draft,
  examples: {
    eventRule: {
      ...{ name: 'Half of its calls fail', agentId: 'researcher', mode: 'shadow' },
      conditionType: 'error_rate_threshold',
      conditionConfig: { threshold: 50, windowMinutes: 5, of: 'calls', minEvents: 5 },
      actionType: 'pause_agent',
      actionConfig: { message: 'Half of its calls fail' },
    },
    decisionRule: {
      ...{ name: 'Nothing is deleted', onUnavailable: 'block' },
      conditionType: 'tool_name',
      conditionConfig: { value: 'delete_*' },
      actionType: 'block',
      actionConfig: { message: 'Deleting is not for agents' },
    },
  },
  forwarded: true,
  status: 201,
  versioned: true,
  response: RuleView,
  problems: [422],
});

export const listRules = operation({
  id: 'listRules',
  method: 'get',
  path: '/api/guardrails',
  tag: 'Guardrails',
  summary: 'Rules, newest first.',
  scope: 'read',
  query: RuleFilter,
  response: z.object({
    rules: z.array(RuleView),
    total: z.int(),
    hasMore: z.boolean(),
    nextCursor: z.string().optional(),
  }),
});

export const getRule = operation({
  id: 'getRule',
  ...rulePath,
  method: 'get',
  path: '/api/guardrails/:id',
  summary: 'One rule.',
  scope: 'read',
  versioned: true,
  response: RuleView,
  problems: [404],
});

const updating = {
  ...rulePath,
  path: '/api/guardrails/:id',
  scope: 'admin',
  headers: RuleChangeHeaders,
  body: Draft.partial(),
  forwarded: true,
  versioned: true,
  response: RuleView,
  problems: [404, 409, 412, 422],
} as const;

export const updateRule = operation({
  id: 'updateRule',
  ...updating,
  method: 'put',
  summary:
    'Changes the fields that are sent, validated like a new rule; the others stay. agentId null clears the scope, a masked secret stays.',
});

export const patchRule = operation({
  id: 'patchRule',
  ...updating,
  method: 'patch',
  summary:
    'Changes the fields that are sent, as PUT does for clients of before. conditionConfig and actionConfig are sent whole.',
});

export const deleteRule = operation({
  id: 'deleteRule',
  ...rulePath,
  method: 'delete',
  path: '/api/guardrails/:id',
  summary: 'Deletes the rule. Its history stays readable.',
  scope: 'admin',
  headers: RuleChangeHeaders,
  response: z.object({ ok: z.literal(true) }),
  problems: [404, 409, 412],
});

const state = {
  lastTriggeredAt: Instant.optional(),
  triggerCount: z.int().meta({ description: 'Effective triggers, dry runs included.' }),
  lastEvaluatedAt: Instant.optional(),
  currentValue: z.number().optional().meta({ description: 'Absent: not enough data yet.' }),
};

const AgentState = z.object({
  agentId: z.string(),
  ...state,
  dryRunCount: z.int(),
  coolingUntil: Instant.optional(),
  degradedReason: z.string().optional().meta({
    description: 'Why the value was less than there was, or could not be measured, when it was last evaluated.',
  }),
});
export type AgentState = z.infer<typeof AgentState>;

export const RuleDay = z
  .object({
    day: z.iso.date().meta({ description: 'Of the UTC day.' }),
    asked: z.int().meta({ description: 'Calls the rule was asked about.' }),
    matched: z.int(),
    blocked: z.int().meta({ description: 'Calls it blocked, or ended the run of.' }),
    askedHuman: z.int().meta({ description: 'Calls it had a human asked about.' }),
    wouldHave: z.int().meta({ description: 'Calls it would have blocked, changed or asked about, in shadow.' }),
  })
  .meta({ id: 'RuleDay' });
export type RuleDay = z.infer<typeof RuleDay>;

export const RuleState = z.object({ ruleId: z.string(), tenantId: z.string(), ...state });
export type RuleState = z.infer<typeof RuleState>;

export const getRuleStatus = operation({
  id: 'getRuleStatus',
  ...rulePath,
  method: 'get',
  path: '/api/guardrails/:id/status',
  summary: 'The rule, what it measures now in all and per agent, and its ten newest triggers.',
  scope: 'read',
  response: z.object({
    rule: RuleView,
    state: RuleState.nullable().meta({
      description: 'Null until first evaluated. currentValue is that of the agent evaluated last.',
    }),
    agents: z.array(AgentState).meta({ description: 'At most 100, the one evaluated last first.' }),
    recentTriggers: z.array(TriggerView),
    days: z
      .array(RuleDay)
      .meta({ description: 'What a decision rule said, for each of the last 30 days on which it was asked.' }),
  }),
  problems: [404],
});

const catalogEntry = {
  type: z.string(),
  title: z.string(),
  description: z.string(),
  schema: JsonObject.meta({ description: 'JSON Schema (2020-12) of the config.' }),
  example: JsonObject,
};

export const getRuleCatalog = operation({
  id: 'getRuleCatalog',
  method: 'get',
  path: '/api/guardrails/catalog',
  tag: 'Guardrails',
  summary: 'Every type of condition and of action, with the schema of its config: what a form is drawn from.',
  scope: 'read',
  response: z.object({
    conditions: z.array(
      z.object({
        ...catalogEntry,
        unit: z.string(),
        phases: z.array(z.enum(['stream', 'decision'])),
        cadence: z.enum(['event', 'tick', 'call']),
      }),
    ),
    actions: z.array(
      z.object({
        ...catalogEntry,
        phases: z.array(z.enum(['stream', 'decision'])),
        urgency: z.enum(['control', 'notification']),
        secrets: z.array(z.string()),
      }),
    ),
  }),
});

const perDay = z.array(z.int()).length(7);

export const RuleSummary = z
  .object({
    ruleId: z.string(),
    fired: perDay.meta({ description: 'Times it acted, for each of the last seven times 24 hours, oldest first.' }),
    wouldHave: perDay.meta({ description: 'Times it would have acted, in shadow.' }),
    lastAt: Instant.optional(),
    highest: z
      .object({ agentId: z.string(), value: z.number() })
      .optional()
      .meta({ description: 'Of what it measures now, the agent that is nearest to its threshold or beyond.' }),
    degradedReason: z.string().optional(),
  })
  .meta({ id: 'RuleSummary' });
export type RuleSummary = z.infer<typeof RuleSummary>;

export const listRuleSummaries = operation({
  id: 'listRuleSummaries',
  method: 'get',
  path: '/api/guardrails/summaries',
  tag: 'Guardrails',
  summary: 'What every rule did in the last seven days, in one answer. A rule that never fired is left out.',
  scope: 'read',
  response: z.object({ summaries: z.array(RuleSummary) }),
});

const details = z.array(z.object({ path: z.string(), message: z.string() }));

export const validateRule = operation({
  id: 'validateRule',
  method: 'post',
  path: '/api/guardrails/validate',
  tag: 'Guardrails',
  summary: 'Whether this draft would be accepted, and what is wrong with it. Stores nothing.',
  scope: 'read',
  body: z.unknown(),
  response: z.object({ valid: z.boolean(), details, hint: z.string().optional() }),
});

const text = z.record(z.string(), z.string());

export const testRule = operation({
  id: 'testRule',
  method: 'post',
  path: '/api/guardrails/test',
  tag: 'Guardrails',
  summary:
    'What a draft, and no other rule, would say of a call. With runId the calls of that run before `before` are its history. ' +
    'Stores and counts nothing.',
  scope: 'read',
  body: z.strictObject({
    draft: z.unknown(),
    call: z.strictObject({
      agentId: ClientId,
      phase: z.enum(DECISION_PHASES).default('tool.before'),
      toolName: z.string().min(1).max(256).optional(),
      toolTags: z.array(z.string()).max(100).default([]),
      args: z.unknown().optional(),
      result: z.unknown().optional(),
      actorId: ClientId.optional(),
      actorTags: text.default({}),
      tags: text.default({}),
      metrics: z.record(z.string(), z.number()).default({}),
      runId: ClientId.optional(),
      before: z.iso.datetime({ offset: true }).optional(),
    }),
  }),
  response: z.object({
    asked: z.boolean(),
    why: z.string().optional().meta({ description: 'Why it would not be asked.' }),
    matched: z.boolean().optional(),
    effect: DecisionEffect.optional(),
    message: z.string().optional().meta({ description: 'What the agent would be told.' }),
    bypass: RuleBypass.optional(),
    modifiedArgs: z.unknown().optional(),
  }),
  problems: [422],
});
