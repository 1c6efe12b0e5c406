import {
  AcknowledgeBody,
  AgentBody,
  ClientId,
  DecisionCause,
  EndBody,
  EvaluateBody,
  GuardrailRule,
  HeartbeatBody,
  Problem,
  StartBody,
  ToolsBody,
} from '@agentlens/contracts';
import { z } from 'zod';
import { operation } from '../http/operation.ts';

const tag = 'Agent protocol';
const agent = z.object({ agentId: z.string() });
const run = z.object({ runId: z.string() });
const Lockdown = z.object({
  active: z.boolean(),
  reason: z.string().optional(),
  until_ts: z.number().optional().meta({ description: 'Milliseconds since the epoch.' }),
});

const Verdict = z
  .object({
    verdict: z.enum(['ALLOW', 'BLOCK']),
    control: z.enum(['CONTINUE', 'TERMINATE']),
    cause: DecisionCause,
    message: z.string(),
    evaluatedRules: z.array(
      z.object({ ruleId: z.string(), enabled: z.boolean(), matched: z.boolean(), violated: z.boolean() }),
    ),
    finalRuleId: z.string().optional(),
  })
  .meta({ id: 'Verdict' });

const AuditAnswer = z.object({
  accepted: z.int(),
  rejected: z.int(),
  results: z.array(z.object({ index: z.int(), status: z.int(), id: z.string().optional(), error: Problem })).optional(),
});

const register = {
  path: '/v1/agents',
  tag,
  summary: 'Registers an agent by its slug, or updates it.',
  scope: 'decide',
  body: AgentBody,
  response: agent,
  problems: [413, 415],
} as const;

const Listener = z.object({
  agentId: ClientId,
  instanceId: ClientId.optional().meta({ description: 'The process that listens; it counts as listening for 30 s.' }),
});

/** The agent protocol, served by the ingest gateway on the same address; docs/agent-protocol.md tells it whole. */
export const AGENT_PROTOCOL_OPERATIONS = [
  operation({ method: 'post', ...register }),
  operation({ method: 'put', ...register }),
  operation({
    method: 'put',
    path: '/v1/agents/:agentId/tools',
    tag,
    summary: 'Adds to the tools of an agent, or updates them, by name.',
    scope: 'decide',
    params: agent,
    body: ToolsBody,
    response: agent.extend({ tools: z.int() }),
    problems: [413, 415],
  }),
  operation({
    method: 'post',
    path: '/v1/runs/:runId/start',
    tag,
    summary: 'Starts a run; the same run may be started again. Says whether it is locked down.',
    scope: 'decide',
    params: run,
    body: StartBody,
    response: run.extend({ lockdown: Lockdown }),
    problems: [413, 415],
  }),
  operation({
    method: 'post',
    path: '/v1/runs/:runId/evaluate',
    tag,
    summary: 'May this happen? Always answered with a decision, also for a run that is not known.',
    scope: 'decide',
    params: run,
    body: EvaluateBody,
    response: Verdict,
    problems: [413, 415],
  }),
  operation({
    method: 'post',
    path: '/v1/runs/:runId/end',
    tag,
    summary: 'Ends a run; the same run may be ended again.',
    scope: 'decide',
    params: run,
    body: EndBody,
    response: run.extend({ status: z.string() }),
    problems: [413, 415],
  }),
  operation({
    method: 'post',
    path: '/v1/runs/:runId/heartbeat',
    tag,
    summary: 'Says that a run is alive.',
    scope: 'decide',
    params: run,
    body: HeartbeatBody,
    response: run.extend({ lockdown: Lockdown }),
    problems: [413, 415],
  }),
  operation({
    method: 'post',
    path: '/v1/runs/events',
    tag,
    summary:
      'Takes audit events of an agent, 1 to 1000. 207 where some were refused; `results` says which, and remarks.',
    scope: 'ingest',
    body: z.object({ agentId: ClientId, events: z.array(z.record(z.string(), z.unknown())).min(1).max(1000) }),
    response: AuditAnswer,
    partial: AuditAnswer,
    problems: [413, 415, 422],
  }),
  operation({
    method: 'get',
    path: '/v1/control/stream',
    tag,
    summary:
      'Server-sent events: what stands against the agent, `ready`, then every order as it is given, and a heartbeat ' +
      'every 10 s. Last-Event-ID resumes.',
    scope: 'decide',
    query: Listener.extend({
      token: z.string().optional().meta({ description: 'The API key, where a header cannot be sent.' }),
      lastEventId: z.string().optional().meta({ description: 'Like the header Last-Event-ID, which wins.' }),
    }),
    response: z.string(),
    contentType: 'text/event-stream',
    queryToken: true,
  }),
  operation({
    method: 'get',
    path: '/v1/control/poll',
    tag,
    summary: 'The same where streams do not pass: answers at once without `after`, else waits for what is newer.',
    scope: 'decide',
    query: Listener.extend({
      after: z.string().optional().meta({ description: 'The `next` of the answer before.' }),
      waitMs: z.coerce.number().min(0).default(25_000).meta({ description: 'At most 25000.' }),
    }),
    response: z.object({
      items: z.array(z.object({ kind: z.string(), id: z.string(), value: z.unknown() })),
      next: z.string(),
    }),
  }),
  operation({
    method: 'post',
    path: '/v1/control/:directiveId/ack',
    tag,
    summary: 'Says that an instance of an agent took an order.',
    scope: 'decide',
    params: z.object({ directiveId: z.string() }),
    body: AcknowledgeBody,
    response: z.object({ directiveId: z.string(), acknowledged: z.literal(true) }),
    problems: [413, 415],
  }),
  operation({
    method: 'post',
    path: '/v1/rules',
    tag,
    summary: 'Imports a policy with its rules, in the vocabulary of the agent SDK in the field.',
    scope: 'admin',
    body: z.object({ policy: z.record(z.string(), z.unknown()), rules: z.array(z.record(z.string(), z.unknown())) }),
    status: 201,
    response: z.object({ policyId: z.string(), rules: z.array(GuardrailRule) }),
    problems: [413, 415],
  }),
  operation({
    method: 'get',
    path: '/v1/rules/bundle',
    tag,
    summary: 'The rules that the process of an agent may evaluate by itself, signed. 404: ask about every call.',
    scope: 'decide',
    query: z.object({ agentId: ClientId }),
    tagged: true,
    response: z.object({
      payload: z.string().meta({ description: 'A JSON text: the bundle.' }),
      signature: z.string().meta({ description: 'HMAC-SHA256 of the payload, hex.' }),
    }),
    problems: [404],
  }),
];
