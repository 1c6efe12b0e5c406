import { ClientId, JsonObject, RuleDraft } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { consistent, Flag, IdPath, paging } from '../parameters.ts';
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
  body: Draft,
  forwarded: true,
  status: 201,
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
  response: RuleView,
  problems: [404],
});

export const updateRule = operation({
  id: 'updateRule',
  ...rulePath,
  method: 'put',
  path: '/api/guardrails/:id',
  summary:
    'Changes the fields that are sent, validated like a new rule; the others stay. agentId null clears the scope, a masked secret stays.',
  scope: 'admin',
  body: Draft.partial(),
  forwarded: true,
  response: RuleView,
  problems: [404, 422],
});

export const deleteRule = operation({
  id: 'deleteRule',
  ...rulePath,
  method: 'delete',
  path: '/api/guardrails/:id',
  summary: 'Deletes the rule. Its history stays readable.',
  scope: 'admin',
  response: z.object({ ok: z.literal(true) }),
  problems: [404],
});

const state = {
  lastTriggeredAt: z.string().optional(),
  triggerCount: z.int().meta({ description: 'Effective triggers, dry runs included.' }),
  lastEvaluatedAt: z.string().optional(),
  currentValue: z.number().optional().meta({ description: 'Absent: not enough data yet.' }),
};

const AgentState = z.object({
  agentId: z.string(),
  ...state,
  dryRunCount: z.int(),
  coolingUntil: z.string().optional(),
  degradedReason: z.string().optional().meta({
    description: 'Why the value was less than there was, or could not be measured, when it was last evaluated.',
  }),
});
export type AgentState = z.infer<typeof AgentState>;

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
