import {
  ClientId,
  DECISION_PHASES,
  DecisionEffect,
  GuardrailRule,
  Instant,
  JsonObject,
  RuleBypass,
  RuleDraft,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, RuleChangeHeaders } from '../operation.ts';
import { consistent, Flag, IdPath, paging } from '../parameters.ts';
import { TriggerView } from './triggers.operations.ts';

/** A rule with masked secrets. A PUT with a mask keeps the stored secret. */
export const RuleView = GuardrailRule.meta({ id: 'GuardrailRule' });
export type RuleView = GuardrailRule;

export const RULES_LIST = 'rules';

const TypeName = z.string().regex(/^[a-z0-9_]{1,64}$/, 'must be a type name such as error_rate_threshold');

export const RuleFilter = consistent(
  z.object({
    agentId: ClientId.optional().meta({
      description: 'Rules that apply to this agent: those scoped to it and those without a scope.',
    }),
    enabled: Flag.optional(),
    conditionType: TypeName.optional(),
    actionType: TypeName.optional(),
    passesUnread: Flag.optional().meta({
      description:
        'Rules in force that let a call pass if an argument or result they look at is missing or unreadable (`onMissing: allow`).',
    }),
    passesUnasked: Flag.optional().meta({
      description:
        'Rules in force that require approval and let a call pass if the approval cannot be requested (`onUnavailable: allow`).',
    }),
    ...paging(RULES_LIST, 500, 500),
  }),
);
export type RuleFilter = z.output<typeof RuleFilter>;

const Draft = RuleDraft.meta({
  id: 'GuardrailRuleDraft',
  description:
    'The schemas of conditionConfig and actionConfig depend on their types: see GET /api/guardrails/catalog.',
});

const rulePath = { params: IdPath, tag: 'Guardrails' } as const;

export const createRule = operation({
  id: 'createRule',
  method: 'post',
  path: '/api/guardrails',
  tag: 'Guardrails',
  summary: 'Create a rule. Secrets in actionConfig are encrypted and never returned.',
  scope: ['admin', 'edit'],
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
      ...{ name: 'No deletions', onUnavailable: 'block' },
      conditionType: 'tool_name',
      conditionConfig: { value: 'delete_*' },
      actionType: 'block',
      actionConfig: { message: 'Agents may not delete' },
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
  scope: ['admin', 'edit'],
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
    'Change the fields you send, validated like a new rule. agentId null clears the scope; a masked secret is kept.',
});

export const patchRule = operation({
  id: 'patchRule',
  ...updating,
  method: 'patch',
  summary: 'Change the fields you send, like PUT. Send conditionConfig and actionConfig complete.',
});

export const deleteRule = operation({
  id: 'deleteRule',
  ...rulePath,
  method: 'delete',
  path: '/api/guardrails/:id',
  summary: 'Delete the rule. Its history is kept.',
  scope: ['admin', 'edit'],
  headers: RuleChangeHeaders,
  response: z.object({ ok: z.literal(true) }),
  problems: [404, 409, 412],
});

const state = {
  lastTriggeredAt: Instant.optional(),
  triggerCount: z.int().meta({ description: 'Effective triggers, including dry runs.' }),
  lastEvaluatedAt: Instant.optional(),
  currentValue: z.number().optional().meta({ description: 'Absent without enough data.' }),
};

const AgentState = z.object({
  agentId: z.string(),
  ...state,
  dryRunCount: z.int(),
  coolingUntil: Instant.optional(),
  degradedReason: z.string().optional().meta({
    description: 'Why the last measurement was incomplete or impossible.',
  }),
});
export type AgentState = z.infer<typeof AgentState>;

export const RuleDay = z
  .object({
    day: z.iso.date().meta({ description: 'UTC day.' }),
    asked: z.int().meta({ description: 'Calls the rule was evaluated for.' }),
    matched: z.int(),
    blocked: z.int().meta({ description: 'Calls it blocked or whose run it ended.' }),
    askedHuman: z.int().meta({ description: 'Calls for which it requested approval.' }),
    wouldHave: z.int().meta({ description: 'Calls it would have blocked, changed or held for approval, in shadow.' }),
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
  summary: 'A rule, its current measurement in total and per agent, and its ten latest triggers.',
  scope: 'read',
  response: z.object({
    rule: RuleView,
    state: RuleState.nullable().meta({
      description: 'Null until first evaluated. currentValue is that of the most recently evaluated agent.',
    }),
    agents: z.array(AgentState).meta({ description: 'At most 100, most recently evaluated first.' }),
    recentTriggers: z.array(TriggerView),
    days: z
      .array(RuleDay)
      .meta({ description: 'Results of a decision rule for each of the last 30 days on which it was evaluated.' }),
  }),
  problems: [404],
});

const catalogEntry = {
  type: z.string(),
  title: z.string(),
  description: z.string(),
  schema: JsonObject.meta({ description: 'JSON Schema (2020-12) of the configuration.' }),
  example: JsonObject,
};

export const getRuleCatalog = operation({
  id: 'getRuleCatalog',
  method: 'get',
  path: '/api/guardrails/catalog',
  tag: 'Guardrails',
  summary: 'Every type of condition and action with the schema of its configuration.',
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
    fired: perDay.meta({ description: 'Times it acted, in each of the last seven 24-hour periods, oldest first.' }),
    wouldHave: perDay.meta({ description: 'Times it would have acted, in shadow.' }),
    lastAt: Instant.optional(),
    highest: z
      .object({ agentId: z.string(), value: z.number() })
      .optional()
      .meta({ description: 'The agent nearest to or beyond the threshold.' }),
    degradedReason: z.string().optional(),
  })
  .meta({ id: 'RuleSummary' });
export type RuleSummary = z.infer<typeof RuleSummary>;

export const listRuleSummaries = operation({
  id: 'listRuleSummaries',
  method: 'get',
  path: '/api/guardrails/summaries',
  tag: 'Guardrails',
  summary: 'Activity of every rule in the last seven days. Rules that never fired are omitted.',
  scope: 'read',
  response: z.object({ summaries: z.array(RuleSummary) }),
});

const details = z.array(z.object({ path: z.string(), message: z.string() }));

export const validateRule = operation({
  id: 'validateRule',
  method: 'post',
  path: '/api/guardrails/validate',
  tag: 'Guardrails',
  summary: 'Validate a draft. Stores nothing.',
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
    "Evaluate only this draft for a call. With runId, the run's calls before `before` are its history." +
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
    why: z.string().optional().meta({ description: 'Why the rule would not be evaluated.' }),
    matched: z.boolean().optional(),
    effect: DecisionEffect.optional(),
    message: z.string().optional().meta({ description: 'Message the agent would receive.' }),
    bypass: RuleBypass.optional(),
    modifiedArgs: z.unknown().optional(),
  }),
  problems: [422],
});
