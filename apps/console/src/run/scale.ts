/** Maps time to a position on the timeline, without idle gaps. */
export interface Scale {
  /** Position of an instant, 0 to 1 within the view. */
  readonly at: (ms: number) => number;
  readonly cuts: readonly Cut[];
  readonly ticks: readonly Tick[];
}

export interface Cut {
  readonly from: number;
  readonly to: number;
  /** Time that is not shown. */
  readonly cutMs: number;
}

interface Tick {
  readonly at: number;
  /** Since the start. */
  readonly ms: number;
}

interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** The visible part of the whole, both 0 to 1. */
export interface View {
  readonly from: number;
  readonly to: number;
}

export const WHOLE: View = { from: 0, to: 1 };

/** A gap of at least this share of the whole is closed. */
const GAP_SHARE = 0.12;
/** Width of a closed gap, as a share of the busy time. */
const GAP_LEFT = 0.04;

export function scaleOf(
  spans: readonly Span[],
  startMs: number,
  endMs: number,
  closeGaps: boolean,
  view: View = WHOLE,
): Scale {
  const length = Math.max(1, endMs - startMs);
  const gaps = closeGaps
    ? gapsOf(spans, startMs, endMs).filter((gap) => (gap.endMs - gap.startMs) / length >= GAP_SHARE)
    : [];
  const busy = length - gaps.reduce((sum, gap) => sum + gap.endMs - gap.startMs, 0);
  const left = Math.max(1, busy * GAP_LEFT);
  const total = busy + gaps.length * left;
  const place = (ms: number) => {
    let passed = Math.max(0, Math.min(length, ms - startMs));
    for (const gap of gaps) {
      if (ms <= gap.startMs) break;
      const inside = Math.min(ms, gap.endMs) - gap.startMs;
      passed -= inside - (inside / (gap.endMs - gap.startMs)) * left;
    }
    return passed / total;
  };
  const at = (ms: number) => (place(ms) - view.from) / (view.to - view.from);
  return {
    at,
    cuts: gaps.map((gap) => ({ from: at(gap.startMs), to: at(gap.endMs), cutMs: gap.endMs - gap.startMs })),
    ticks: ticksOf(startMs, endMs, gaps)
      .map((ms) => ({ at: at(ms), ms: ms - startMs }))
      .filter((tick) => tick.at >= 0 && tick.at <= 0.94),
  };
}

/** Intervals without a running step. */
function gapsOf(spans: readonly Span[], startMs: number, endMs: number): Span[] {
  const gaps: Span[] = [];
  let busyUntil = startMs;
  for (const span of [...spans].sort((a, b) => a.startMs - b.startMs)) {
    if (span.startMs > busyUntil) gaps.push({ startMs: busyUntil, endMs: span.startMs });
    busyUntil = Math.max(busyUntil, span.endMs);
  }
  if (endMs > busyUntil) gaps.push({ startMs: busyUntil, endMs });
  return gaps;
}

const STEPS_MS = [100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 864e5];
const WANTED = 5;

function ticksOf(startMs: number, endMs: number, gaps: readonly Span[]): number[] {
  const shown = endMs - startMs - gaps.reduce((sum, gap) => sum + gap.endMs - gap.startMs, 0);
  const step = STEPS_MS.find((one) => shown / one <= WANTED) ?? 864e5;
  const ticks: number[] = [];
  for (let ms = startMs; ms < endMs && ticks.length < 200; ms += step) {
    if (!gaps.some((gap) => ms > gap.startMs && ms < gap.endMs)) ticks.push(ms);
  }
  return ticks;
}
