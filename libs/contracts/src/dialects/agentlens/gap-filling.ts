import type { JsonObject } from '../../events.ts';
import type { EventTypeName } from './event-types.ts';

/**
 * Fields the public clients leave out or spell flat, brought to where the vocabulary has them. Only from what the
 * event itself says, so that a retry is filled alike; what the client wrote stays.
 */
export function fillGaps(type: EventTypeName, payload: JsonObject): JsonObject {
  switch (type) {
    case 'session_ended':
      return { ...payload, reason: payload.reason ?? 'completed' };
    case 'llm_response':
      return filledResponse(payload);
    case 'cost_tracked':
      return { ...payload, ...present({ totalTokens: payload.totalTokens ?? sum(payload) }) };
    default:
      return payload;
  }
}

/** AutoGen and Semantic Kernel send `durationMs`, `inputTokens`, `outputTokens` and no reason to stop. */
function filledResponse(payload: JsonObject): JsonObject {
  return {
    ...payload,
    usage: filledUsage(payload),
    completion: payload.completion ?? null,
    finishReason: payload.finishReason ?? 'unknown',
    ...present({ latencyMs: payload.latencyMs ?? payload.durationMs }),
  };
}

function filledUsage(payload: JsonObject): unknown {
  const given = payload.usage ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) return given;
  const flat = present({
    inputTokens: payload.inputTokens,
    outputTokens: payload.outputTokens,
    totalTokens: payload.totalTokens,
    cacheReadTokens: payload.cacheReadTokens,
    cacheWriteTokens: payload.cacheWriteTokens,
  });
  const usage: JsonObject = { ...flat, ...given };
  return { ...usage, ...present({ totalTokens: usage.totalTokens ?? sum(usage) }) };
}

/** Wrongly typed counts are left for the schema to refuse. */
function sum({ inputTokens, outputTokens }: JsonObject): number | undefined {
  if (typeof inputTokens !== 'number' && typeof outputTokens !== 'number') return undefined;
  return (typeof inputTokens === 'number' ? inputTokens : 0) + (typeof outputTokens === 'number' ? outputTokens : 0);
}

function present(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value != null));
}
