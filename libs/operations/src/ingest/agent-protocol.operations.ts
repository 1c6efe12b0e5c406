import {
  AcknowledgeBody,
  AgentBody,
  ClientId,
  ControlOrder,
  Decision,
  Directive,
  EndBody,
  EvaluateBody,
  GuardrailRule,
  HeartbeatBody,
  Problem,
  RuleFinding,
  StartBody,
  ToolsBody,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { Heartbeat, StreamClosed, StreamTicketAnswer, streamAccess } from '../stream-access.ts';
import { IdempotencyHeaders } from './events.operations.ts';

const tag = 'Agent protocol';
const agent = z.object({ agentId: z.string() });
const run = z.object({ runId: z.string() });
const Lockdown = z.object({
  active: z.boolean(),
  reason: z.string().optional(),
  kind: z.enum(['paused', 'killed']).optional(),
  lockdownId: z.string().optional().meta({ description: 'Id to acknowledge.' }),
});
/**
 * A run id that cannot be stored is replaced with its hash: rejecting it would make clients continue without asking.
 */
const RunPath = z.object({ runId: z.string().min(1) });

/** Orders for a run, returned at its start and with every heartbeat. */
const runControl = run.extend({
  lockdown: Lockdown,
  modelOverride: z.string().optional().meta({ description: 'Model to use instead.' }),
});

const { verdict, control, cause, message, finalRuleId, ...decided } = Decision.shape;
const Verdict = z
  .object({
    ...{ verdict, control, cause, message },
    evaluatedRules: z.array(RuleFinding.pick({ ruleId: true, enabled: true, matched: true, violated: true })),
    finalRuleId,
  })
  .meta({ id: 'Verdict' });
const VerdictWithExtras = Verdict.extend({
  decisionId: decided.id,
  effect: decided.effect,
  approvalId: decided.approvalId,
  budgetId: decided.budgetId.meta({ description: 'Budget that blocked the call.' }),
  modifiedArgs: decided.modifiedArgs,
  reservationId: decided.reservationId,
  bypasses: decided.bypasses,
}).meta({
  id: 'VerdictWithExtras',
  description: 'Only if the question has a callId, an estimate or a deadlineMs.',
});

const AuditAnswer = z.object({
  accepted: z.int(),
  rejected: z.int(),
  results: z
    .array(
      z.object({
        index: z.int(),
        status: z.literal([202, 400, 403, 409]).meta({ type: 'integer', description: '202: stored, with a remark.' }),
        id: z.string().optional(),
        error: Problem,
      }),
    )
    .optional(),
});

const registering = {
  path: '/v1/agents',
  tag,
  tolerant: true,
  summary: 'Register an agent by its slug, or update it.',
  scope: 'decide',
  body: AgentBody,
  response: agent,
} as const;

const Listener = z.object({
  agentId: ClientId,
  instanceId: ClientId.optional().meta({ description: 'The listening process; it counts as listening for 30 s.' }),
});

const DecidedApproval = z.object({
  approvalId: z.string(),
  status: z.enum(['approved', 'denied', 'expired', 'cancelled']),
  runId: z.string().optional(),
  callId: z.string().optional(),
  reason: z.string().optional(),
});

/* The agent protocol, described in docs/agent-protocol.md. */

export const registerAgent = operation({ id: 'registerAgent', method: 'post', ...registering });

/** Older clients of the protocol use PUT. */
export const upsertAgent = operation({ id: 'upsertAgent', method: 'put', ...registering });

export const registerAgentTools = operation({
  id: 'registerAgentTools',
  method: 'put',
  path: '/v1/agents/:agentId/tools',
  tag,
  tolerant: true,
  summary: 'Add or update tools of an agent, by name.',
  scope: 'decide',
  params: z.object({ agentId: ClientId }),
  body: ToolsBody,
  response: agent.extend({ tools: z.int() }),
});

export const startDemo = operation({
  id: 'startDemo',
  method: 'post',
  path: '/v1/demo',
  tag,
  summary: 'Run the demo agent on the server: it searches in a loop, then asks to buy something. No body.',
  scope: 'decide',
  status: 202,
  response: z.object({ runId: z.string(), agentId: z.string() }),
});

export const startRun = operation({
  id: 'startRun',
  method: 'post',
  path: '/v1/runs/:runId/start',
  tag,
  tolerant: true,
  summary: 'Start a run; starting it again is harmless. Returns whether it is locked down.',
  scope: 'decide',
  params: RunPath,
  body: StartBody,
  response: runControl.extend({
    lineage: z
      .object({ ancestors: z.array(z.string()) })
      .optional()
      .meta({ description: 'Ancestors of a run with a parent, nearest first; their orders apply to it.' }),
  }),
});

export const evaluateCall = operation({
  id: 'evaluateCall',
  method: 'post',
  path: '/v1/runs/:runId/evaluate',
  tag,
  tolerant: true,
  summary: 'Ask whether a call may happen. Always answered with a decision, also for an unknown run.',
  scope: 'decide',
  params: RunPath,
  headers: IdempotencyHeaders,
  body: EvaluateBody,
  examples: {
    toolCall: {
      ...{ phase: 'tool.before', agentId: 'support-bot', callId: 'call-1' },
      tool: { name: 'refund', tags: ['write'] },
      args: { order: 'A-1007', amountUsd: 40 },
      actor: { externalId: 'customer-7' },
    },
    modelCall: {
      ...{ phase: 'llm.before', agentId: 'support-bot', callId: 'call-2' },
      estimate: { tokens: 1200, costUsd: 0.02 },
    },
  },
  response: z.union([Verdict, VerdictWithExtras]),
});

export const endRun = operation({
  id: 'endRun',
  method: 'post',
  path: '/v1/runs/:runId/end',
  tag,
  tolerant: true,
  summary: 'End a run; ending it again is harmless.',
  scope: 'decide',
  params: RunPath,
  body: EndBody,
  response: run.extend({ status: EndBody.shape.status }),
});

export const sendHeartbeat = operation({
  id: 'sendHeartbeat',
  method: 'post',
  path: '/v1/runs/:runId/heartbeat',
  tag,
  tolerant: true,
  summary: 'Send a heartbeat of a run.',
  scope: 'decide',
  params: RunPath,
  body: HeartbeatBody,
  response: runControl,
});

export const sendAuditEvents = operation({
  id: 'sendAuditEvents',
  method: 'post',
  path: '/v1/runs/events',
  tag,
  tolerant: true,
  summary: 'Store audit events of an agent, 1 to 1000. 207 if some were rejected; `results` lists them, with remarks.',
  scope: 'ingest',
  headers: IdempotencyHeaders,
  body: z.object({ agentId: ClientId, events: z.array(z.record(z.string(), z.unknown())).min(1).max(1000) }),
  response: AuditAnswer,
  partial: AuditAnswer,
  problems: [422],
});

export const createControlTicket = operation({
  id: 'createControlTicket',
  method: 'post',
  path: '/v1/control/tickets',
  tag,
  summary:
    'Create a ticket that opens the control stream with `?ticket=` within a minute, for clients that cannot send headers. No body.',
  scope: 'decide',
  status: 201,
  response: StreamTicketAnswer,
});

export const openControlStream = operation({
  id: 'openControlStream',
  method: 'get',
  path: '/v1/control/stream',
  tag,
  tolerant: true,
  summary:
    'Server-sent events: the orders in force for the agent, `ready`, then every new order, and a heartbeat ' +
    'every 10 s. Last-Event-ID resumes.',
  scope: 'decide',
  query: Listener.extend({
    ...streamAccess,
    lastEventId: z
      .string()
      .optional()
      .meta({ description: 'Same as the header Last-Event-ID, which takes precedence.' }),
  }),
  response: z.string(),
  headers: z.object({ 'last-event-id': z.string().optional() }),
  contentType: 'text/event-stream',
  frames: {
    order: ControlOrder,
    directive: Directive,
    approval: DecidedApproval,
    rules: z.object({ version: z.string() }).meta({ description: 'Rules changed: fetch the bundle again.' }),
    ready: Heartbeat.meta({ description: 'Everything in force was sent; changes follow.' }),
    heartbeat: Heartbeat,
    closed: StreamClosed,
  },
  queryToken: true,
});

export const pollControl = operation({
  id: 'pollControl',
  method: 'get',
  path: '/v1/control/poll',
  tag,
  tolerant: true,
  summary:
    'Poll for orders if streams do not get through. Without `after` it returns at once, otherwise it waits for changes.',
  scope: 'decide',
  query: Listener.extend({
    after: z.string().optional().meta({ description: '`next` of the previous answer.' }),
    waitMs: z.coerce.number().min(0).default(25_000).meta({ description: 'At most 25000.' }),
  }),
  response: z.object({
    items: z.array(
      z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('order'), id: z.string(), value: ControlOrder }),
        z.object({ kind: z.literal('directive'), id: z.string(), value: Directive }),
      ]),
    ),
    next: z.string(),
    connection: z
      .object({ id: z.string(), secret: z.string() })
      .optional()
      .meta({ description: 'With an `instanceId`: signs acknowledgements of this instance.' }),
  }),
});

export const acknowledgeDirective = operation({
  id: 'acknowledgeDirective',
  method: 'post',
  path: '/v1/control/:directiveId/ack',
  tag,
  tolerant: true,
  summary: 'Acknowledge an order for an instance of an agent. 409 if the instance does not listen for orders.',
  scope: 'decide',
  problems: [403, 409],
  params: z.object({ directiveId: ClientId }),
  body: AcknowledgeBody,
  response: z.object({ directiveId: z.string(), acknowledged: z.literal(true) }),
});

export const importPolicy = operation({
  id: 'importPolicy',
  method: 'post',
  path: '/v1/rules',
  tag,
  tolerant: true,
  summary: 'Import a policy with its rules, in the Handlebar vocabulary.',
  scope: 'admin',
  body: z.object({ policy: z.record(z.string(), z.unknown()), rules: z.array(z.record(z.string(), z.unknown())) }),
  status: 201,
  response: z.object({ policyId: z.string(), rules: z.array(GuardrailRule) }),
});

export const getRuleBundle = operation({
  id: 'getRuleBundle',
  method: 'get',
  path: '/v1/rules/bundle',
  tag,
  tolerant: true,
  summary: "Get the signed rules that the agent's process may evaluate itself. 404: ask about every call.",
  scope: 'decide',
  query: z.object({ agentId: ClientId }),
  tagged: true,
  response: z.object({
    payload: z.string().meta({ description: 'The bundle, as JSON text.' }),
    signature: z.string().meta({ description: 'HMAC-SHA256 of the payload, in hex.' }),
  }),
  problems: [404],
});
