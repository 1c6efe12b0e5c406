import type { BreakerLimits, BreakerReason, BreakerState } from '@agentlens/contracts';
import { confidenceFall, remember } from './confidence-fall.ts';

/** What a run or an agent has used since its breaker last closed. Tokens and iterations are counts, cost is USD. */
interface BreakerUsage {
  readonly tokens: number;
  readonly iterations: number;
  readonly costUsd: number;
  readonly consecutiveFailures: number;
  /** What failed last, where that is known: only a success of the same kind ends the row. */
  readonly failing?: CallKind;
  /** The latest reports, oldest first, at most as many as any limit can look back on. */
  readonly confidences: readonly number[];
}

/** A circuit breaker as a value: every change makes a new one, and JSON carries it whole. */
export interface Breaker {
  readonly state: BreakerState;
  readonly usage: BreakerUsage;
}

type CallKind = 'llm' | 'tool';

/** What one call used. What is not known is left out and counts as nothing. */
export interface CallUsage {
  readonly tokens?: number;
  readonly iterations?: number;
  readonly costUsd?: number;
  /** Absent: says nothing about failures. */
  readonly outcome?: 'success' | 'failure';
  /** What kind of call it was. */
  readonly of?: CallKind;
  /** The model's own confidence, 0 to 1, where the agent reports one. */
  readonly confidence?: number;
  /** Who made the call, as given to `check`: only the probe itself can close a half-open breaker. */
  readonly by?: string;
}

/** What the call that is asked for will surely, or probably, use: a model call is one iteration more. */
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

/** A breaker that nothing has used. Also what an operator's reset answers: closing begins a new count. */
export const CLOSED_BREAKER: Breaker = { state: { kind: 'closed' }, usage: NOTHING_USED };

/**
 * May one more call begin? Closed: yes, unless it is over a limit; then the breaker opens (`tripped`). Open: no, until
 * the waiting time is over; then exactly one caller, `next.by`, becomes the probe. Half-open: no for everyone else.
 *
 * At a cap is not over it: with ten iterations allowed, the tenth begins and the eleventh does not.
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
    // The waiting time starts again with the probe, so that a probe that was lost is followed by another one.
    breaker: {
      ...breaker,
      state: { kind: 'half_open', openedAt: instant(nowMs), reason: state.reason, probe: next.by },
    },
    allowed: true,
    probe: true,
  };
}

/**
 * Adds what a call used. It never opens a closed breaker, because being over a limit is a reason to begin no further
 * call, not a failure of this one. The outcome of the probe closes a half-open breaker, and begins a new count, or
 * opens it again.
 */
export function record(breaker: Breaker, used: CallUsage, nowMs: number): Breaker {
  const { state } = breaker;
  const probed = state.kind === 'half_open' && used.by === state.probe && used.outcome !== undefined;
  if (probed && used.outcome === 'success') return CLOSED_BREAKER;
  const usage = add(breaker.usage, used);
  if (probed) return { state: { kind: 'open', openedAt: instant(nowMs), reason: state.reason }, usage };
  return { state, usage };
}

/** Opens the breaker, as a limit does and as an operator may. An open one keeps its first reason. */
export function trip(breaker: Breaker, reason: BreakerReason, nowMs: number): Breaker {
  if (breaker.state.kind === 'open') return breaker;
  return { usage: breaker.usage, state: { kind: 'open', openedAt: instant(nowMs), reason } };
}

/** Which limit is passed, the gravest first; null while none is. Usage at a limit is within it. */
export function overLimit(
  usage: BreakerUsage,
  limits: BreakerLimits,
  next: NextCall = NO_CALL,
): Exclude<BreakerReason, 'operator'> | null {
  if (exceeds(usage.costUsd + (next.costUsd ?? 0), limits.maxCostUsd)) return 'cost';
  if (usage.tokens + (next.tokens ?? 0) > limits.maxTokens) return 'tokens';
  if (usage.iterations + (next.iterations ?? 0) > limits.maxIterations) return 'iterations';
  // So many failures in a row are allowed as the limit says.
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

/** Nonsense must not poison a sum for ever, nor give anything back. */
function amount(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) && value > 0 ? value : 0;
}

type FailureRow = Pick<BreakerUsage, 'consecutiveFailures' | 'failing'>;

/** A tool that keeps failing is not excused by the model calls between its tries, nor a model by its tools. */
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

/** A hundred times ten cents is ten dollars, whatever binary fractions make of it. */
function exceeds(value: number, limit: number): boolean {
  return value > limit && value - limit > 1e-9 * Math.max(1, limit);
}

/** A clock that is wrong must not keep a breaker from opening: what no date can hold is the beginning of time. */
function instant(ms: number): string {
  return new Date(Math.abs(ms) <= 8.64e15 ? ms : 0).toISOString();
}
