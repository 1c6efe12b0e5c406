import { hasTokens, isSameCall, isSameSpan, type TracedCall } from '@agentlens/otlp';
import { RecentMap } from '@agentlens/state';

/** Spans of one call arrive within one or two intervals of their exporters. */
const CALLS_MS = 5 * 60_000;
const MAX_AGENTS = 10_000;
/** Bounds the work of one comparison. */
const MAX_CALLS_PER_AGENT = 64;

/** A call that counts, and the spans of other instrumentations that turned out to be the same call. */
interface Counted {
  call: TracedCall;
  readonly others: TracedCall[];
}

/**
 * The newest model calls of each agent, to find those that a second instrumentation reports. Kept in the memory of one
 * instance: an exporter sends the spans of one process to one of them.
 */
export class RecentCalls {
  readonly #byAgent: RecentMap<Counted[]>;

  constructor(now: () => number) {
    this.#byAgent = new RecentMap(now, { ttlMs: CALLS_MS, maxEntries: MAX_AGENTS });
  }

  /** Returns the call that counts instead of this one. Remembers the call if it counts itself. */
  take(agent: string, call: TracedCall): TracedCall | undefined {
    const known = this.#byAgent.get(agent) ?? [];
    for (let at = known.length - 1; at >= 0; at--) {
      const counted = known[at];
      if (counted === undefined) continue;
      if (isSameSpan(counted.call, call)) return undefined;
      // A third span may be around the second one only.
      const around = counted.others.filter(({ traceId }) => traceId === call.traceId);
      const isKnown = [counted.call, ...around].some((one) => isSameCall(one, call));
      if (!isKnown || !absorb(counted, call)) continue;
      if (hasTokens(counted.call) || !hasTokens(call)) return counted.call;
      // Its tokens must count, although the other span has been counted as a call already.
      counted.call = call;
      return undefined;
    }
    known.push({ call, others: [] });
    if (known.length > MAX_CALLS_PER_AGENT) known.shift();
    this.#byAgent.set(agent, known);
    return undefined;
  }
}

/**
 * Parallel calls with equal tokens look the same, so each takes at most one span of every other instrumentation, unless
 * the spans belong together by their trace.
 */
function absorb({ call, others }: Counted, other: TracedCall): boolean {
  const before = others.find(({ scope, generation }) => scope === other.scope && generation === other.generation);
  if (before !== undefined && (call.traceId !== other.traceId || isSameSpan(before, other))) {
    return isSameSpan(before, other);
  }
  others.push(other);
  return true;
}
