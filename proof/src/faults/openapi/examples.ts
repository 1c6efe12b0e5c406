import type { Examples } from './request-draw.ts';

interface CatalogEntry {
  readonly type: string;
  readonly phases: readonly string[];
  readonly example: object;
}

/** The part of `GET /api/guardrails/catalog` that is needed here. */
export interface ExampleCatalog {
  readonly conditions: readonly CatalogEntry[];
  readonly actions: readonly CatalogEntry[];
}

/** Every tool call needs an approval, which can then be approved, denied or cancelled. */
const APPROVAL = {
  name: 'ask',
  conditionType: 'tool_name',
  conditionConfig: { operator: 'glob', value: '*' },
  actionType: 'require_approval',
  actionConfig: {},
  cooldownMinutes: 0,
};

/** A rule that every event matches, which creates triggers, deliveries and alerts. */
function metAtOnce(actionType: string, actionConfig: object): object {
  const conditionConfig = { metricName: 'event_count', operator: 'gt', value: 0, windowMinutes: 60 };
  return {
    name: `met: ${actionType}`,
    conditionType: 'custom_metric',
    conditionConfig,
    actionType,
    actionConfig,
    cooldownMinutes: 0,
  };
}

/** In the vocabulary of the AgentLens SDK. */
const POLICY = {
  policy: { name: 'House rules' },
  rules: [
    {
      name: 'No deploys',
      priority: 5,
      selector: { phase: 'tool.before', tool: { name: 'deploy*' } },
      condition: { kind: 'toolName', op: 'glob', value: 'deploy*' },
      effect: { type: 'block', reason: 'Not by agents' },
    },
  ],
};

/** Rules that create an instance of everything that can be read. */
export function firstRules(webhookUrl: string): readonly object[] {
  return [APPROVAL, metAtOnce('notify_webhook', { url: webhookUrl }), metAtOnce('raise_alert', {})];
}

const AGENT = 'agent-1';
/** More than the random requests will decide in one way. */
const APPROVALS = 20;

/** Each event matches the rules above. */
export const FIRST_EVENTS: readonly object[] = [
  { eventType: 'tool_call', payload: { toolName: 'x', callId: 'c', arguments: {} } },
  { eventType: 'custom', payload: { type: 'x', data: {} } },
].map((event) => ({ ...event, sessionId: 'run-1', agentId: AGENT }));

/** Each call has its own run and needs an approval. */
export const FIRST_QUESTIONS = Array.from({ length: APPROVALS }, (_, serial) => ({
  phase: 'tool.before',
  agentId: AGENT,
  tool: { name: 'x' },
  callId: `call-${serial}`,
}));

/** Valid bodies for operations where random values rarely match the schema. Webhooks use one local address. */
export function examplesOf(catalog: ExampleCatalog, webhookUrl: string): Examples {
  const drafts = catalog.conditions.flatMap((condition) =>
    catalog.actions
      .filter(({ phases }) => phases.some((phase) => condition.phases.includes(phase)))
      .map((action) => ({
        name: `${condition.type} ${action.type}`,
        conditionType: condition.type,
        conditionConfig: condition.example,
        actionType: action.type,
        actionConfig: withAddress(action.example, webhookUrl),
        cooldownMinutes: 0,
      })),
  );
  const rules = [...firstRules(webhookUrl), ...drafts];
  const questions = ['tool.before', 'tool.after'].map((phase) => ({ phase, agentId: AGENT, tool: { name: 'x' } }));
  return {
    'post /api/guardrails': rules,
    'put /api/guardrails/{id}': [...rules, { enabled: true }, { enabled: false }],
    'post /api/events': FIRST_EVENTS.map((event) => ({ events: [event] })),
    'post /v1/rules': [POLICY],
    'post /v1/runs/{runId}/evaluate': [...questions, ...questions.map((one) => ({ ...one, callId: 'c' }))],
  };
}

function withAddress(config: object, url: string): object {
  return JSON.parse(JSON.stringify(config).replaceAll(/https?:\/\/[^"]*/g, url)) as object;
}
