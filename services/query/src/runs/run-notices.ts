import type { RunNotice } from '@agentlens/operations';

/** A model call as reported by a span. */
export interface ReportedCall {
  readonly agentId: string;
  /** The instrumentation. */
  readonly scope: string;
  readonly startMs: number;
  readonly endMs: number;
  /**
   * Set if another span reported the same call and this one does not count: the instrumentation of the span that
   * counts.
   */
  readonly countedScope?: string;
}

/**
 * Returns one notice for each pair of instrumentations that report the same model calls of an agent. Calls match by the
 * provider's response id, or because their spans overlap in time. Calls that match by time count twice.
 */
export function noticesOf(calls: readonly ReportedCall[]): RunNotice[] {
  const pairs = new Map<string, RunNotice>();
  const note = (agentId: string, scopes: readonly [string, string], mayCountTwice: number) => {
    const sorted = scopes.toSorted();
    const name = JSON.stringify([agentId, ...sorted]);
    const known = pairs.get(name);
    const calls = (known?.mayCountTwice ?? 0) + mayCountTwice;
    pairs.set(name, { kind: 'two_instrumentations', agentId, scopes: sorted, mayCountTwice: calls });
  };
  for (const { agentId, scope, countedScope } of calls) {
    if (countedScope !== undefined && countedScope !== scope) note(agentId, [scope, countedScope], 0);
  }
  for (const [first, second] of overlapping(calls.filter(({ countedScope }) => countedScope === undefined))) {
    note(first.agentId, [first.scope, second.scope], 1);
  }
  return [...pairs.values()];
}

/**
 * Finds calls of one agent that two instrumentations report at the same time. Each call is used at most once, so that a
 * parallel loop does not produce every combination.
 */
function overlapping(calls: readonly ReportedCall[]): (readonly [ReportedCall, ReportedCall])[] {
  const pairs: (readonly [ReportedCall, ReportedCall])[] = [];
  let open: ReportedCall[] = [];
  for (const call of calls.toSorted((a, b) => a.startMs - b.startMs || b.endMs - a.endMs)) {
    open = open.filter(({ endMs }) => endMs > call.startMs);
    const other = open.find(({ agentId, scope }) => agentId === call.agentId && scope !== call.scope);
    if (other === undefined) open.push(call);
    else {
      open.splice(open.indexOf(other), 1);
      pairs.push([other, call]);
    }
  }
  return pairs;
}
