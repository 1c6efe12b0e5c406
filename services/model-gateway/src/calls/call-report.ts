import type { PriceBook } from '@agentlens/contracts';
import type { CallEvent } from '../records/call-events.ts';
import { findAnswer, type GatewayCall } from '../gateway-call.ts';
import type { ForwardedCall } from './forwarder.ts';

type Described = Pick<CallEvent, 'tenantId' | 'runId' | 'agentId' | 'sessionId' | 'metadata'>;

function describe(call: GatewayCall): Described {
  const { tenantId, runId, agentId, sessionId, connection } = call;
  return { tenantId, runId, agentId, sessionId, metadata: { via: 'gateway', connection: connection.name } };
}

/** The event that a call was sent. It names what was asked for, not what was said. */
export function writeCalled(call: GatewayCall): CallEvent {
  const { id, connection, model, request, startedAtMs } = call;
  return {
    ...describe(call),
    id: `${id}:called`,
    eventType: 'llm_call',
    severity: 'info',
    atMs: startedAtMs,
    payload: {
      callId: id,
      provider: connection.provider,
      model,
      messages: [],
      parameters: {
        maxTokens: request.maxTokens,
        streamed: request.streamed,
        inputTokensEstimate: request.inputTokens,
        tools: request.tools.slice(0, 100),
        serverTools: request.serverTools,
        ...(model === request.model ? {} : { requestedModel: request.model }),
      },
    },
  };
}

/**
 * The event that a call ended, which settles its reservation and counts its cost.
 *
 * @param prices decide by which name the call is priced
 */
export function writeEnded(
  { call, outcome, failed }: ForwardedCall,
  firstByteMs: number | undefined,
  atMs: number,
  prices: PriceBook,
): CallEvent {
  const { id, connection, model, startedAtMs } = call;
  const answer = findAnswer(outcome);
  const named = answer?.model ?? model;
  const hasPrice = (name: string) =>
    'costUsd' in prices.quote({ model: name, provider: connection.provider, usage: {}, atMs });
  const isWhole = outcome.kind === 'completed';
  return {
    ...describe(call),
    id: `${id}:ended`,
    eventType: 'llm_response',
    severity: isWhole ? 'info' : 'warn',
    atMs,
    payload: {
      callId: id,
      provider: connection.provider,
      // A server may answer with a name of its own, which has no price.
      ...(named !== model && !hasPrice(named) && hasPrice(model) ? { model, answeredModel: named } : { model: named }),
      completion: null,
      finishReason: isWhole ? (answer?.finishReason ?? 'unknown') : outcome.kind,
      // A call that got no answer is billed by no provider.
      ...(answer === undefined ? { outcome: 'error', usage: {} } : { usage: answer.usage }),
      latencyMs: Math.max(0, atMs - startedAtMs),
      firstByteMs,
      // What was sent before to another connection, without an answer.
      ...(failed === undefined ? {} : { failedAttempts: [failed] }),
      ...(answer?.serviceTier === undefined ? {} : { serviceTier: answer.serviceTier }),
      ...(answer === undefined ? {} : { usageSource: answer.usageSource, responseId: answer.responseId }),
      ...(answer === undefined || answer.toolCalls.length === 0 ? {} : { toolCalls: answer.toolCalls }),
      ...('status' in outcome ? { status: outcome.status } : {}),
      ...('refusal' in outcome ? { stopReason: outcome.refusal.message, stopCode: outcome.refusal.code } : {}),
    },
  };
}
