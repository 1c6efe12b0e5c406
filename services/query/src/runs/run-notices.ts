import type { RunNotice } from '@agentlens/operations';

/** A model call as a span told it. */
export interface ToldCall {
  readonly agentId: string;
  /** The instrumentation. */
  readonly scope: string;
  readonly startMs: number;
  readonly endMs: number;
  /** Of a call that another span told of too, and that does not count: the instrumentation of the one that does. */
  readonly countedScope?: string;
}

/**
 * One notice for each pair of instrumentations that tell of the same model calls of an agent: known by the provider's id
 * of the answer, or because their spans lie in time above each other. Calls of the latter count twice.
 */
export function noticesOf(calls: readonly ToldCall[]): RunNotice[] {
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

/** Calls of one agent that two instrumentations tell of at one time, each at most once, so that a parallel loop stays small. */
function overlapping(calls: readonly ToldCall[]): (readonly [ToldCall, ToldCall])[] {
  const pairs: (readonly [ToldCall, ToldCall])[] = [];
  let open: ToldCall[] = [];
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
