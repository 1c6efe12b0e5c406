import type { ActionOutcome, ActionResponse } from '../catalog/action-module.ts';

type Answered = Extract<ActionResponse, { kind: 'answered' }>;

/** Outcome of a request that got no HTTP answer; the same for every action that sends one. */
export function outcomeOfSilence(response: Exclude<ActionResponse, Answered>): ActionOutcome {
  if (response.kind === 'refused') return { kind: 'rejected', reason: response.reason };
  return { kind: 'retry', reason: response.reason, destinationDown: true };
}

/** `Retry-After` in milliseconds from now: seconds or an HTTP date. Undefined if the header is absent or invalid. */
function retryAfterMs(response: Answered, nowMs: number): number | undefined {
  const text = header(response, 'retry-after')?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

export function retryLater(response: Answered, nowMs: number): ActionOutcome {
  return {
    kind: 'retry',
    reason: `HTTP ${response.status}`,
    afterMs: retryAfterMs(response, nowMs),
    httpStatus: response.status,
    destinationDown: response.status >= 500,
  };
}

function header(response: Answered, name: string): string | undefined {
  const key = Object.keys(response.headers).find((candidate) => candidate.toLowerCase() === name);
  return key === undefined ? undefined : response.headers[key];
}
