import { EMPTY_ROOT, hashPair } from './hash.ts';

/** A perfect subtree: the leaves from `index * 2^height` on. */
export interface Node {
  readonly height: number;
  readonly index: number;
}

/** Leaves `from` to `to - 1`. `from` is a multiple of the largest power of two that fits, so it splits into nodes. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** One hash of a proof: the nodes it combines, from left to right. */
export type ProofPart = readonly Node[];

/** Splits leaves into perfect subtrees, largest first. */
export function splitRange({ from, to }: Range): Node[] {
  const nodes: Node[] = [];
  for (let at = from; at < to; ) {
    const height = Math.floor(Math.log2(to - at));
    nodes.push({ height, index: at / 2 ** height });
    at += 2 ** height;
  }
  return nodes;
}

/** Combines hashes of adjacent perfect subtrees of falling size. */
export function foldHashes(hashes: readonly Buffer[]): Buffer {
  return hashes.length === 0 ? EMPTY_ROOT : hashes.reduceRight((right, left) => hashPair(left, right));
}

/** Largest power of two below `size`, which is at least 2. */
function splitSize(size: number): number {
  return 2 ** Math.floor(Math.log2(size - 1));
}

/** Nodes of the proof that leaf `index` is in the tree of `size` leaves (RFC 6962, 2.1.1), nearest first. */
export function planInclusion(index: number, size: number): ProofPart[] {
  if (index < 0 || index >= size) throw new RangeError(`no leaf ${index} in a tree of ${size}`);
  const parts: Range[] = [];
  for (let from = 0, to = size; to - from > 1; ) {
    const middle = from + splitSize(to - from);
    if (index < middle) {
      parts.unshift({ from: middle, to });
      to = middle;
    } else {
      parts.unshift({ from, to: middle });
      from = middle;
    }
  }
  return parts.map(splitRange);
}

/** Nodes of the proof that the tree of `size` leaves starts with the tree of `old` leaves (RFC 6962, 2.1.2). */
export function planConsistency(old: number, size: number): ProofPart[] {
  if (old < 1 || old > size) throw new RangeError(`a tree of ${size} has no proof for ${old} leaves`);
  const parts: Range[] = [];
  let from = 0;
  let to = size;
  while (to !== old) {
    const middle = from + splitSize(to - from);
    if (old <= middle) {
      parts.unshift({ from: middle, to });
      to = middle;
    } else {
      parts.unshift({ from, to: middle });
      from = middle;
    }
  }
  // The old tree itself is known to the reader of the proof, unless it is only a part of a subtree.
  if (from > 0) parts.unshift({ from, to });
  return parts.map(splitRange);
}

/**
 * Nodes that lead from several leaves to the root at once, from left to right: the largest subtrees without one of
 * these leaves. Much smaller than one proof for each leaf.
 *
 * @param indices ascending
 */
export function planSharedProof(indices: readonly number[], size: number): ProofPart[] {
  const parts: ProofPart[] = [];
  const walk = (range: Range, first: number, end: number): void => {
    const { from, to } = range;
    if (first === end) parts.push(splitRange(range));
    else if (to - from > 1) {
      const middle = from + splitSize(to - from);
      let split = first;
      while (split < end && (indices[split] ?? to) < middle) split += 1;
      walk({ from, to: middle }, first, split);
      walk({ from: middle, to }, split, end);
    }
  };
  if ((indices.at(-1) ?? 0) >= size) throw new RangeError(`no leaf ${indices.at(-1)} in a tree of ${size}`);
  walk({ from: 0, to: size }, 0, indices.length);
  return parts;
}

/** The right edge of a growing tree: roots of its perfect subtrees, largest first. Enough to append and to sign. */
export class Frontier {
  #size: number;
  readonly #hashes: Buffer[];

  constructor(size = 0, hashes: readonly Buffer[] = []) {
    if (hashes.length !== splitRange({ from: 0, to: size }).length)
      throw new RangeError(`a tree of ${size} leaves does not have ${hashes.length} subtrees`);
    this.#size = size;
    this.#hashes = [...hashes];
  }

  get size(): number {
    return this.#size;
  }

  get hashes(): readonly Buffer[] {
    return this.#hashes;
  }

  append(leafHash: Buffer): void {
    let hash = leafHash;
    for (let width = this.#size; width % 2 === 1; width = (width - 1) / 2) {
      const left = this.#hashes.pop();
      if (left === undefined) throw new Error('the frontier has too few subtrees');
      hash = hashPair(left, hash);
    }
    this.#hashes.push(hash);
    this.#size += 1;
  }

  root(): Buffer {
    return foldHashes(this.#hashes);
  }
}
