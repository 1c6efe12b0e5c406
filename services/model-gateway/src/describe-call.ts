import type { DecisionRequest } from '@agentlens/contracts';
import type { GatewayCall } from './gateway-call.ts';

/** What a question about a model call says, before and after it. */
export function describeCall(call: GatewayCall): Omit<DecisionRequest, 'phase' | 'deadlineMs' | 'receivedAt'> {
  const { tenantId, agentId, runId, id, sessionId, caller, model, connection, fallback, request } = call;
  const { provider, name } = connection;
  return {
    tenantId,
    agentId,
    runId,
    callId: id,
    sessionId,
    askedBy: caller.keyId,
    args: {
      model,
      provider,
      connection: name,
      fallback: fallback?.name ?? null,
      request: {
        tools: request.tools,
        serverTools: request.serverTools,
        maxTokens: request.maxTokens ?? null,
        streamed: request.streamed,
        bytes: call.body.length,
        attachments: request.attachments,
      },
    },
    tags: { model, provider, connection: name, via: 'gateway' },
    subjects: [],
    metrics: {},
    keepsArguments: caller.keepsArguments,
    asksAgain: caller.asksAgain,
  };
}
