import type { BreakerLimits, BreakerReason, BreakerState } from '@agentlens/contracts';
import { confidenceFall, remember } from './confidence-fall.ts';

/** Usage of a run, a run tree or an agent since its breaker last closed. Tokens and iterations are counts, cost is in USD. */
interface BreakerUsage {
  readonly tokens: number;
  readonly iterations: number;
  readonly costUsd: number;
  readonly consecutiveFailures: number;
  /** Kind of the last failed call, if known. Only a success of the same kind resets the failure count. */
  readonly failing?: CallKind;
  /** The latest reports, oldest first, at most as many as the largest window. */
  readonly confidences: readonly number[];
}

/** Circuit breaker as an immutable, JSON-serializable value. */
export interface Breaker {
  readonly state: BreakerState;
  readonly usage: BreakerUsage;
  /** The topmost run of the tree that this tree became part of. Everything it counted counts there. */
  readonly joinedTo?: string;
}

type CallKind = 'llm' | 'tool';

/** Usage of one call. Unknown values are left out and count as zero. */
export interface CallUsage {
  readonly tokens?: number;
  readonly iterations?: number;
  readonly costUsd?: number;
  /** If absent, the call does not affect the failure count. */
  readonly outcome?: 'success' | 'failure';
  readonly of?: CallKind;
  /** The model's own confidence, 0 to 1, if the agent reports it. */
  readonly confidence?: number;
  /** Caller, as given to `check`. Only the probe itself can close a half-open breaker. */
  readonly by?: string;
}

/** Expected usage of the requested call. A model call adds one iteration. */
export type NextCall = Pick<CallUsage, 'tokens' | 'iterations' | 'costUsd' | 'by'>;

type BreakerAnswer =
  | { readonly breaker: Breaker; readonly allowed: true; readonly probe: boolean }
  | { readonly breaker: Breaker; readonly allowed: false; readonly reason: BreakerReason; readonly tripped: boolean };

const NOTHING_USED: BreakerUsage = {
  tokens: 0,
  iterations: 0,
  costUsd: 0,
  consecutiveFailures: 0,
  confidences: [],
};
const NO_CALL: NextCall = {};

/** New breaker without usage. An operator's reset also produces this value. */
export const CLOSED_BREAKER: Breaker = { state: { kind: 'closed' }, usage: NOTHING_USED };

/**
 * Decides whether one more call may begin.
 *
 * - Closed: yes, unless a limit would be exceeded; then the breaker opens (`tripped`).
 * - Open: no, until the waiting time has passed; then exactly one caller, `next.by`, becomes the probe.
 * - Half-open: only the probe.
 *
 * Usage at a limit is within it: with ten iterations allowed, the tenth begins and the eleventh does not.
 */
export function check(breaker: Breaker, limits: BreakerLimits, nowMs: number, next: NextCall = NO_CALL): BreakerAnswer {
  const { state } = breaker;
  if (state.kind === 'closed') {
    const reason = overLimit(breaker.usage, limits, next);
    if (reason === null) return { breaker, allowed: true, probe: false };
    return { breaker: trip(breaker, reason, nowMs), allowed: false, reason, tripped: true };
  }
  if (state.kind === 'half_open' && next.by !== undefined && state.probe === next.by)
    return { breaker, allowed: true, probe: true };
  if (next.by === undefined || !waitedEnough(state.openedAt, limits, nowMs))
    return { breaker, allowed: false, reason: state.reason, tripped: false };
  return {
    // The waiting time restarts with the probe so that a lost probe is eventually replaced.
    breaker: {
      ...breaker,
      state: { kind: 'half_open', openedAt: instant(nowMs), reason: state.reason, probe: next.by },
    },
    allowed: true,
    probe: true,
  };
}

/**
 * Adds the usage of a call. Never opens a closed breaker: exceeding a limit prevents the next call and is not a failure
 * of this one. The outcome of the probe either closes a half-open breaker and starts a new count, or opens it again.
 */
export function record(breaker: Breaker, used: CallUsage, nowMs: number): Breaker {
  const { state } = breaker;
  const probed = state.kind === 'half_open' && used.by === state.probe && used.outcome !== undefined;
  if (probed && used.outcome === 'success') return CLOSED_BREAKER;
  const usage = add(breaker.usage, used);
  if (probed) return { state: { kind: 'open', openedAt: instant(nowMs), reason: state.reason }, usage };
  return { state, usage };
}

/** Opens the breaker, for a limit or on behalf of an operator. An open breaker keeps its first reason. */
export function trip(breaker: Breaker, reason: BreakerReason, nowMs: number): Breaker {
  if (breaker.state.kind === 'open') return breaker;
  return { usage: breaker.usage, state: { kind: 'open', openedAt: instant(nowMs), reason } };
}

const SEVERITY = { closed: 0, half_open: 1, open: 2 } as const;

/**
 * Combines the breakers of two run trees that turn out to be one. No usage is lost or counted twice. The more severe
 * state holds; `into` keeps its own where both are alike. The longer row of failures continues.
 */
export function join(into: Breaker, from: Breaker): Breaker {
  const { usage } = into;
  const [row, confidences] = [
    from.usage.consecutiveFailures > usage.consecutiveFailures ? from.usage : usage,
    usage.confidences.length > 0 ? usage.confidences : from.usage.confidences,
  ];
  return {
    state: SEVERITY[from.state.kind] > SEVERITY[into.state.kind] ? from.state : into.state,
    usage: {
      tokens: usage.tokens + from.usage.tokens,
      iterations: usage.iterations + from.usage.iterations,
      costUsd: usage.costUsd + from.usage.costUsd,
      consecutiveFailures: row.consecutiveFailures,
      ...(row.failing === undefined ? {} : { failing: row.failing }),
      confidences,
    },
  };
}

/** Returns the exceeded limit, most severe first, or null if there is none. Usage at a limit is within it. */
export function overLimit(
  usage: BreakerUsage,
  limits: BreakerLimits,
  next: NextCall = NO_CALL,
): Exclude<BreakerReason, 'operator'> | null {
  if (exceeds(usage.costUsd + (next.costUsd ?? 0), limits.maxCostUsd)) return 'cost';
  if (usage.tokens + (next.tokens ?? 0) > limits.maxTokens) return 'tokens';
  if (usage.iterations + (next.iterations ?? 0) > limits.maxIterations) return 'iterations';
  // As many consecutive failures as the limit are allowed.
  if (usage.consecutiveFailures > limits.maxConsecutiveFailures) return 'failures';
  if (limits.maxConfidenceDrop === null) return null;
  const fall = confidenceFall(usage.confidences, limits.confidenceWindow);
  return fall !== null && exceeds(fall, limits.maxConfidenceDrop) ? 'confidence' : null;
}

function add(usage: BreakerUsage, used: CallUsage): BreakerUsage {
  return {
    tokens: usage.tokens + amount(used.tokens),
    iterations: usage.iterations + amount(used.iterations),
    costUsd: usage.costUsd + amount(used.costUsd),
    ...rowOfFailures(usage, used),
    confidences: used.confidence === undefined ? usage.confidences : remember(usage.confidences, used.confidence),
  };
}

/** Ignores invalid and negative amounts, which would corrupt the sum permanently. */
function amount(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) && value > 0 ? value : 0;
}

type FailureRow = Pick<BreakerUsage, 'consecutiveFailures' | 'failing'>;

/** A model call between retries of a failing tool does not reset the tool's failure count, and vice versa. */
function rowOfFailures({ consecutiveFailures: before, failing }: FailureRow, { outcome, of }: CallUsage): FailureRow {
  const kind = outcome === 'failure' ? (of ?? failing) : failing;
  const same = of === undefined || failing === undefined || of === failing;
  if (outcome === 'success' && same) return { consecutiveFailures: 0 };
  const count = outcome === 'failure' ? before + 1 : before;
  return kind === undefined ? { consecutiveFailures: count } : { consecutiveFailures: count, failing: kind };
}

function waitedEnough(openedAt: string, limits: BreakerLimits, nowMs: number): boolean {
  return limits.probeAfterSeconds !== null && nowMs - Date.parse(openedAt) >= limits.probeAfterSeconds * 1000;
}

/** Compares with a tolerance for binary fractions: a hundred times 0.10 USD is 10 USD. */
function exceeds(value: number, limit: number): boolean {
  return value > limit && value - limit > 1e-9 * Math.max(1, limit);
}

/**
 * Converts a time to ISO 8601. Invalid times become the epoch, so that a wrong clock cannot keep a breaker from
 * opening.
 */
function instant(ms: number): string {
  return new Date(Math.abs(ms) <= 8.64e15 ? ms : 0).toISOString();
}
