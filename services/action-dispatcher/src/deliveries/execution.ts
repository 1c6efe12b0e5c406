import type { ActionOutcome, ActionRequest, ActionResponse } from '@agentlens/guardrails';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import { exchangeOf } from './exchange.ts';
import { addressOf } from './prepared-action.ts';
import { pauseAfter, type Urgency } from './retry-schedule.ts';
import type { GivenUpDelivery, Next, Settlement } from './settlements.repository.ts';

/** Why no attempt was made. */
export type Unattempted =
  | { readonly kind: 'given_up'; readonly why: GivenUpDelivery; readonly reason: string }
  /** The destination's breaker is open: no attempt is used up. */
  | { readonly kind: 'deferred'; readonly untilMs: number; readonly reason: string };

/** How carrying out a delivery ended. */
export type Ending = ActionOutcome | Unattempted;

/** An attempt of a delivery. */
export interface Attempted {
  readonly ending: ActionOutcome;
  readonly urgency: Urgency;
  readonly attemptedAt: number;
  /** The last request of the attempt and its response. */
  readonly request?: ActionRequest;
  readonly response?: ActionResponse;
}

/** A delivery that was carried out, with what its result says about it. */
export type Carried = Attempted | { readonly ending: Unattempted };

/** What to record. */
export type Execution =
  | { readonly kind: 'settle'; readonly settlement: Settlement }
  | { readonly kind: 'defer'; readonly untilMs: number; readonly reason: string };

const MAX_DETAIL = 300;

/**
 * Decides what comes next.
 *
 * @param random uniform in [0, 1); spreads retries
 */
export function executionOf(
  delivery: ClaimedDelivery,
  carried: Carried,
  endedAt: number,
  random: () => number,
): Execution {
  if (!isAttempted(carried)) return withoutAttempt(carried.ending, endedAt);
  const { ending, attemptedAt, request, response } = carried;
  const detail = safe(ending.kind === 'delivered' ? (ending.detail ?? null) : ending.reason);
  const next = nextOf(delivery, carried, endedAt, random);
  const gaveUp = ending.kind === 'retry' && next.kind === 'settled';
  const settlement: Settlement = {
    at: endedAt,
    next,
    receipt: ending.kind === 'delivered' ? ending.receipt : undefined,
    detail: gaveUp ? safe(`gave up after the last attempt: ${detail}`) : detail,
    attempt: {
      started_at: new Date(attemptedAt).toISOString(),
      finished_at: new Date(endedAt).toISOString(),
      outcome: ending.kind,
      http_status: ending.httpStatus ?? null,
      detail,
      exchange: request === undefined ? null : exchangeOf(request, response),
    },
    ...disabling(delivery, ending),
  };
  return { kind: 'settle', settlement };
}

function isAttempted(carried: Carried): carried is Attempted {
  return 'attemptedAt' in carried;
}

function withoutAttempt(ending: Unattempted, at: number): Execution {
  if (ending.kind === 'deferred') return { kind: 'defer', untilMs: ending.untilMs, reason: ending.reason };
  const next: Next = { kind: 'settled', result: 'failed', why: ending.why };
  return { kind: 'settle', settlement: { at, next, detail: safe(ending.reason) } };
}

/** True if the receiver is gone for good, so that its destination is disabled. */
export function disablesDestination(ending: Ending): boolean {
  return ending.kind === 'rejected' && ending.disableDestination === true;
}

function nextOf(
  { attempts }: ClaimedDelivery,
  { ending, urgency }: Attempted,
  endedAt: number,
  random: () => number,
): Next {
  if (ending.kind === 'delivered') return { kind: 'settled', result: 'success' };
  if (ending.kind === 'rejected') return { kind: 'settled', result: 'failed', why: 'rejected' };
  const pause = pauseAfter(urgency, attempts + 1, random(), ending.afterMs);
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
