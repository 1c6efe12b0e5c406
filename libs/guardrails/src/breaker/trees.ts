import { type Breaker, CLOSED_BREAKER, join } from './breaker.ts';

/** A run and its known ancestors, nearest first. */
export type RunLine = readonly string[];

interface JoinedTrees {
  /** Trees to read as well. If there are any, the rest is empty. */
  readonly missing: readonly string[];
  /** The topmost known run of the tree of each run. */
  readonly rootOf: ReadonlyMap<string, string>;
  /** New breakers, by run: those of trees that became part of another, and those that they were added to. */
  readonly joined: ReadonlyMap<string, Breaker>;
}

/**
 * Finds the trees of runs and moves what was counted before their ancestors were known to the topmost run. The result
 * does not depend on the order in which ancestors become known.
 *
 * @param known breakers of all runs in `lines`, and of the trees they were joined to
 */
export function joinTrees(lines: readonly RunLine[], known: ReadonlyMap<string, Breaker>): JoinedTrees {
  const joins = [...known].flatMap(([id, { joinedTo }]) => (joinedTo === undefined ? [] : [[id, joinedTo] as const]));
  const missing = new Set(joins.map(([, top]) => top).filter((top) => !known.has(top)));
  if (missing.size > 0) return { missing: [...missing], rootOf: new Map(), joined: new Map() };
  const links = lines.flatMap((line) => line.slice(1).map((parent, at) => [line[at] ?? parent, parent] as const));
  const rootOf = new Map<string, string>();
  const joined = new Map<string, Breaker>();
  for (const { root, members } of treesOf([...known.keys()], [...links, ...joins])) {
    for (const id of members) rootOf.set(id, root);
    const { joinedTo, ...before } = known.get(root) ?? CLOSED_BREAKER;
    let after = before;
    for (const id of members) {
      const breaker = known.get(id);
      if (id === root || breaker === undefined || breaker.joinedTo !== undefined) continue;
      if (!isUnused(breaker)) after = join(after, breaker);
      joined.set(id, { ...emptied(breaker), joinedTo: root });
    }
    if (after !== before || joinedTo !== undefined) joined.set(root, after);
  }
  return { missing: [], rootOf, joined };
}

interface Tree {
  readonly root: string;
  readonly members: readonly string[];
}

/** The root has no parent. Of several such runs, and in a circle, it is the one with the least id. */
function treesOf(ids: readonly string[], links: readonly (readonly [string, string])[]): Tree[] {
  const groups = new Map(ids.map((id) => [id, [id]]));
  const isBelow = new Set<string>();
  for (const [child, parent] of links) {
    if (child === parent) continue;
    isBelow.add(child);
    const [own = [child], other = [parent]] = [groups.get(child), groups.get(parent)];
    if (own === other) continue;
    const [large, small] = own.length < other.length ? [other, own] : [own, other];
    for (const id of small) {
      large.push(id);
      groups.set(id, large);
    }
  }
  return [...new Set(groups.values())].map((members) => {
    const tops = members.filter((id) => !isBelow.has(id));
    return { root: (tops.length > 0 ? tops : members).reduce((least, id) => (id < least ? id : least)), members };
  });
}

function isUnused({ state, usage }: Breaker): boolean {
  const { tokens, iterations, costUsd, consecutiveFailures, confidences } = usage;
  return (
    state.kind === 'closed' && tokens + iterations + costUsd + consecutiveFailures === 0 && confidences.length === 0
  );
}

/** Keeps the state object of a closed breaker, whose state does not change. */
function emptied({ state }: Breaker): Breaker {
  return { ...CLOSED_BREAKER, state: state.kind === 'closed' ? state : CLOSED_BREAKER.state };
}
