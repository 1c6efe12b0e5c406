import type { ActionOutcome, ActionResponse } from '../catalog/action-module.ts';

type Answered = Extract<ActionResponse, { kind: 'answered' }>;

/** Outcome of a request that got no HTTP answer; the same for every action that sends one. */
export function outcomeOfSilence(response: Exclude<ActionResponse, Answered>): ActionOutcome {
  if (response.kind === 'refused') return { kind: 'rejected', reason: response.reason };
  return { kind: 'retry', reason: response.reason, destinationDown: true };
}

/** `Retry-After` in milliseconds from now: seconds or an HTTP date. Undefined if the header is absent or invalid. */
export function readRetryAfter(headers: Answered['headers'], nowMs: number): number | undefined {
  const key = Object.keys(headers).find((name) => name.toLowerCase() === 'retry-after');
  const text = key === undefined ? undefined : headers[key]?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

export function retryLater(response: Answered, nowMs: number): ActionOutcome {
  return {
    kind: 'retry',
    reason: `HTTP ${response.status}`,
    afterMs: readRetryAfter(response.headers, nowMs),
    httpStatus: response.status,
    destinationDown: response.status >= 500,
  };
}
