/** An event without the common members; about 400 bytes with them. */
export interface SentEvent {
  readonly eventType: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

const MEDIAN_TOOL_MS = 45;
const MEDIAN_MODEL_MS = 700;
const USD_PER_INPUT_TOKEN = 0.15e-6;
const USD_PER_OUTPUT_TOKEN = 0.6e-6;

/** An event that a rule can watch for: its value is the marker. */
export function markerEvent(marker: number): SentEvent {
  return { eventType: 'custom', payload: { type: 'marker', data: { marker: marker + 1 } } };
}

/** Durations and costs differ each time, because aggregates would be cheap with few distinct values. */
export function toolEvent(serial: number, i: number, random: () => number): SentEvent {
  return {
    eventType: 'tool_response',
    payload: {
      callId: `call-${serial}-${i}`,
      toolName: 'search_documents',
      durationMs: spread(MEDIAN_TOOL_MS, random),
      result: { hits: 12, cursor: 'b2Zmc2V0PTEy', source: 'knowledge-base' },
    },
  };
}

export function modelEvent(serial: number, i: number, random: () => number): SentEvent {
  const inputTokens = 200 + Math.floor(random() * 3_000);
  const outputTokens = 10 + Math.floor(random() * 600);
  const costUsd = inputTokens * USD_PER_INPUT_TOKEN + outputTokens * USD_PER_OUTPUT_TOKEN;
  return {
    eventType: 'llm_response',
    payload: {
      callId: `llm-${serial}-${i}`,
      provider: 'openai',
      model: 'gpt-4o-mini',
      completion: 'The document describes the refund policy in section four.',
      finishReason: 'stop',
      usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
      costUsd: Number(costUsd.toFixed(8)),
      latencyMs: spread(MEDIAN_MODEL_MS, random),
    },
  };
}

/**
 * Log-logistic distribution around a median, with the long tail of real latencies: a tenth takes more than three times
 * as long.
 */
function spread(median: number, random: () => number): number {
  const share = Math.min(0.999, Math.max(0.001, random()));
  return Number((median * Math.sqrt(share / (1 - share))).toFixed(1));
}
