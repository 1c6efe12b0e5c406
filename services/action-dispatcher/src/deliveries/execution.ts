import type { ActionOutcome, ActionRequest, ActionResponse } from '@agentlens/guardrails';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import { exchangeOf } from './exchange.ts';
import { addressOf } from './prepared-action.ts';
import { pauseAfter, type Urgency } from './retry-schedule.ts';
import type { GivenUpDelivery, Next, Settlement } from './settlements.repository.ts';

/** How carrying out a delivery ended: with the outcome of its action, or without an attempt. */
export type Ending =
  | ActionOutcome
  | { readonly kind: 'given_up'; readonly why: GivenUpDelivery; readonly reason: string }
  /** The destination's breaker is open: no attempt is used up. */
  | { readonly kind: 'deferred'; readonly untilMs: number; readonly reason: string };

/** What to record. */
export type Execution =
  | { readonly kind: 'settle'; readonly settlement: Settlement }
  | { readonly kind: 'defer'; readonly untilMs: number; readonly reason: string };

/** What is known about a delivery when it has ended. */
export interface EndedDelivery {
  readonly delivery: ClaimedDelivery;
  /** Undefined if there is nothing to carry out. */
  readonly action?: { readonly urgency: Urgency };
  /** Undefined if no attempt was made. */
  readonly attemptedAt?: number;
  readonly endedAt: number;
  /** The last request of the attempt and its response. */
  readonly request?: ActionRequest;
  readonly response?: ActionResponse;
}

const MAX_DETAIL = 300;

/**
 * Decides what comes next.
 *
 * @param random uniform in [0, 1); spreads retries
 */
export function executionOf(ended: EndedDelivery, ending: Ending, random: () => number): Execution {
  if (ending.kind === 'deferred') return { kind: 'defer', untilMs: ending.untilMs, reason: ending.reason };
  const at = ended.endedAt;
  if (ending.kind === 'given_up') {
    const next: Next = { kind: 'settled', result: 'failed', why: ending.why };
    return { kind: 'settle', settlement: { at, next, detail: safe(ending.reason) } };
  }
  const { delivery, attemptedAt = at, request, response } = ended;
  const detail = safe(ending.kind === 'delivered' ? (ending.detail ?? null) : ending.reason);
  const next = nextOf(ended, ending, random);
  const gaveUp = ending.kind === 'retry' && next.kind === 'settled';
  const settlement: Settlement = {
    at,
    next,
    detail: gaveUp ? safe(`gave up after the last attempt: ${detail}`) : detail,
    attempt: {
      started_at: new Date(attemptedAt).toISOString(),
      finished_at: new Date(at).toISOString(),
      outcome: ending.kind,
      http_status: ending.httpStatus ?? null,
      detail,
      exchange: request === undefined ? null : exchangeOf(request, response),
    },
    ...disabling(delivery, ending),
  };
  return { kind: 'settle', settlement };
}

/** True if the receiver is gone for good, so that its destination is disabled. */
export function disablesDestination(ending: Ending): boolean {
  return ending.kind === 'rejected' && ending.disableDestination === true;
}

function nextOf({ delivery, action, endedAt }: EndedDelivery, outcome: ActionOutcome, random: () => number): Next {
  if (outcome.kind === 'delivered') return { kind: 'settled', result: 'success' };
  if (outcome.kind === 'rejected') return { kind: 'settled', result: 'failed', why: 'rejected' };
  if (action === undefined) throw new Error('a delivery is attempted after its action was found');
  const pause = pauseAfter(action.urgency, delivery.attempts + 1, random(), outcome.afterMs);
  if (pause === null) return { kind: 'settled', result: 'failed', why: 'out_of_attempts' };
  return { kind: 'retry', atMs: endedAt + pause };
}

function disabling(delivery: ClaimedDelivery, outcome: ActionOutcome): Pick<Settlement, 'disable'> {
  if (outcome.kind !== 'rejected' || !disablesDestination(outcome)) return {};
  const label = addressOf(delivery.actionType, delivery.actionConfig)?.label ?? '';
  return { disable: { label, reason: outcome.reason } };
}

/** One short line without control characters: details are shown to people. */
function safe(text: string | null): string | null {
  return text === null ? null : text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, MAX_DETAIL);
}
