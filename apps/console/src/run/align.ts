/** What two steps must share to be the same step of two runs. */
export interface Alignable {
  readonly kind: string;
  readonly name: string;
}

/** The same step in both runs, or a step that only one of them has. */
export interface Pair<S> {
  readonly a: S | undefined;
  readonly b: S | undefined;
}

/** Above this product of lengths, steps are aligned with a bounded look-ahead instead of the longest common sequence. */
const MAX_CELLS = 4_000_000;
const LOOK_AHEAD = 100;

/**
 * Aligns the steps of two runs by tool and order. Keeps the order of both runs, and pairs as many steps as possible; in
 * runs that are long and differ, as many as a look-ahead of 100 steps finds.
 */
export function aligned<S extends Alignable>(a: readonly S[], b: readonly S[]): Pair<S>[] {
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && isSame(a[head], b[head])) head++;
  let tail = 0;
  while (tail < shorter - head && isSame(a[a.length - 1 - tail], b[b.length - 1 - tail])) tail++;
  const [middleA, middleB] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  const align = middleA.length * middleB.length <= MAX_CELLS ? longestCommon : withLookAhead;
  return [
    ...a.slice(0, head).map((step, at) => ({ a: step, b: b[at] })),
    ...align(middleA, middleB),
    ...a.slice(a.length - tail).map((step, at) => ({ a: step, b: b[b.length - tail + at] })),
  ];
}

function isSame(a: Alignable | undefined, b: Alignable | undefined): boolean {
  return a !== undefined && b !== undefined && a.kind === b.kind && a.name === b.name;
}

/** Longest common sequence by dynamic programming. */
function longestCommon<S extends Alignable>(a: readonly S[], b: readonly S[]): Pair<S>[] {
  const width = b.length + 1;
  // At [i, j]: the number of pairs among the steps of `a` from i and of `b` from j.
  const pairs = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => pairs[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      pairs[i * width + j] = isSame(a[i], b[j]) ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const found: Pair<S>[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (isSame(a[i], b[j])) found.push({ a: a[i++], b: b[j++] });
    else if (at(i + 1, j) >= at(i, j + 1)) found.push({ a: a[i++], b: undefined });
    else found.push({ a: undefined, b: b[j++] });
  }
  return [...found, ...onlyA(a.slice(i)), ...onlyB(b.slice(j))];
}

/** Pairs each step with the nearest equal one ahead in the other run. */
function withLookAhead<S extends Alignable>(a: readonly S[], b: readonly S[]): Pair<S>[] {
  const found: Pair<S>[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    const skipped = skipsTo(a, i, b, j);
    if (skipped === undefined) {
      found.push({ a: a[i++], b: undefined }, { a: undefined, b: b[j++] });
      continue;
    }
    found.push(...onlyA(a.slice(i, i + skipped.a)), ...onlyB(b.slice(j, j + skipped.b)));
    i += skipped.a;
    j += skipped.b;
    found.push({ a: a[i++], b: b[j++] });
  }
  return [...found, ...onlyA(a.slice(i)), ...onlyB(b.slice(j))];
}

/** The fewest steps to skip in both runs until the next ones are the same. */
function skipsTo(a: readonly Alignable[], i: number, b: readonly Alignable[], j: number) {
  for (let skip = 0; skip <= LOOK_AHEAD; skip++) {
    for (let ofA = 0; ofA <= skip; ofA++) {
      if (isSame(a[i + ofA], b[j + skip - ofA])) return { a: ofA, b: skip - ofA };
    }
  }
  return undefined;
}

const onlyA = <S>(steps: readonly S[]): Pair<S>[] => steps.map((a) => ({ a, b: undefined }));
const onlyB = <S>(steps: readonly S[]): Pair<S>[] => steps.map((b) => ({ a: undefined, b }));
