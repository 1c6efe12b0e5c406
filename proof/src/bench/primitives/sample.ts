import { quantile } from '../../harness/quantile.ts';

/** A hundred events of about 400 bytes, as in one request. */
export const HUNDRED_EVENTS = JSON.stringify({
  events: Array.from({ length: 100 }, (_, i) => ({
    id: `0198f2c4-7b1a-7c3e-9d2f-${i.toString(16).padStart(12, '0')}`,
    ...{ sessionId: `session-${i % 10}`, agentId: `agent-${i % 7}`, eventType: 'tool_response', severity: 'info' },
    timestamp: '2026-01-01T00:00:00.000Z',
    payload: { callId: `c-${i}`, toolName: 'search_documents', durationMs: 41, result: 'x'.repeat(120) },
    metadata: { model: 'some-model', tokens: { input: 812, output: 96 }, region: 'eu-central' },
  })),
});

/** Durations of many calls, ms. */
export interface CallTimes {
  readonly middle: number;
  readonly p99: number;
}

/** Runs calls in sequence for the given time. */
export async function callTimes(milliseconds: number, once: () => Promise<unknown>): Promise<CallTimes> {
  const times: number[] = [];
  const until = performance.now() + milliseconds;
  for (let now = performance.now(); now < until; ) {
    await once();
    const after = performance.now();
    times.push(after - now);
    now = after;
  }
  return { middle: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

/** Keeps `count` calls in flight for the given time. Returns how many were answered. */
export async function inFlight(count: number, milliseconds: number, once: () => Promise<unknown>): Promise<number> {
  const until = performance.now() + milliseconds;
  let answered = 0;
  const one = async () => {
    while (performance.now() < until) {
      await once();
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: count }, one));
  return answered;
}
