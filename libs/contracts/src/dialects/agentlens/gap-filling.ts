import type { JsonObject } from '../../events.ts';
import type { EventTypeName } from './event-types.ts';

/**
 * Fills fields that the public clients leave out or place differently. Derives them only from the event itself, so that
 * a retry gets the same values, and keeps what the client wrote.
 */
export function fillGaps(type: EventTypeName, payload: JsonObject): JsonObject {
  switch (type) {
    case 'session_ended':
      return { ...payload, reason: payload.reason ?? 'completed' };
    case 'llm_response':
      return filledResponse(payload);
    case 'cost_tracked':
      return withTotal({ ...payload });
    default:
      return payload;
  }
}

/** AutoGen and Semantic Kernel send `durationMs`, `inputTokens` and `outputTokens`, but no finish reason. */
function filledResponse(payload: JsonObject): JsonObject {
  const filled: JsonObject = {
    ...payload,
    usage: filledUsage(payload),
    completion: payload.completion ?? null,
    finishReason: payload.finishReason ?? 'unknown',
  };
  const latencyMs = payload.latencyMs ?? payload.durationMs;
  if (latencyMs != null) filled.latencyMs = latencyMs;
  return filled;
}

const FLAT_COUNTS = ['inputTokens', 'outputTokens', 'totalTokens', 'cacheReadTokens', 'cacheWriteTokens'] as const;

function filledUsage(payload: JsonObject): unknown {
  const given = payload.usage ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) return given;
  const usage: JsonObject = { ...given };
  for (const name of FLAT_COUNTS) {
    if (!Object.hasOwn(usage, name) && payload[name] != null) usage[name] = payload[name];
  }
  return withTotal(usage);
}

/** Adds the sum to the counts, in place, if it is absent. */
function withTotal(counts: JsonObject): JsonObject {
  const totalTokens = counts.totalTokens ?? sum(counts);
  if (totalTokens != null) counts.totalTokens = totalTokens;
  return counts;
}

/** Leaves counts of the wrong type for the schema to reject. */
function sum({ inputTokens, outputTokens }: JsonObject): number | undefined {
  if (typeof inputTokens !== 'number' && typeof outputTokens !== 'number') return undefined;
  return (typeof inputTokens === 'number' ? inputTokens : 0) + (typeof outputTokens === 'number' ? outputTokens : 0);
}
