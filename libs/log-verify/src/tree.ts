import { createHash } from 'node:crypto';

const LEAF = Buffer.from([0]);
const NODE = Buffer.from([1]);

export const leafHash = (leaf: string): Buffer =>
  createHash('sha256').update(LEAF).update(Buffer.from(leaf, 'utf8')).digest();

const nodeHash = (left: Buffer, right: Buffer): Buffer =>
  createHash('sha256').update(NODE).update(left).update(right).digest();

/** Largest supported tree. Larger numbers are not exact. */
export const MAX_SIZE = 2 ** 52;

const isSize = (size: number): boolean => Number.isInteger(size) && size >= 0 && size <= MAX_SIZE;
const half = (value: number): number => Math.floor(value / 2);
const isOdd = (value: number): boolean => value % 2 === 1;

/** Checks that a leaf is in a tree, by the algorithm of RFC 9162, 2.1.3.2. */
export function checkInclusion(
  index: number,
  size: number,
  leaf: Buffer,
  proof: readonly Buffer[],
  root: Buffer,
): boolean {
  if (!isSize(size) || !isSize(index) || index >= size) return false;
  let fn = index;
  let sn = size - 1;
  let r = leaf;
  for (const p of proof) {
    if (sn === 0) return false;
    if (isOdd(fn) || fn === sn) {
      r = nodeHash(p, r);
      while (!isOdd(fn) && fn !== 0) {
        fn = half(fn);
        sn = half(sn);
      }
    } else {
      r = nodeHash(r, p);
    }
    fn = half(fn);
    sn = half(sn);
  }
  return sn === 0 && r.equals(root);
}

/** Checks that a tree starts with an older one, by the algorithm of RFC 9162, 2.1.4.2. */
export function checkConsistency(
  old: { readonly size: number; readonly root: Buffer },
  now: { readonly size: number; readonly root: Buffer },
  proof: readonly Buffer[],
): boolean {
  if (!isSize(old.size) || !isSize(now.size) || old.size < 1 || old.size > now.size) return false;
  if (old.size === now.size) return proof.length === 0 && old.root.equals(now.root);
  let fn = old.size - 1;
  let sn = now.size - 1;
  while (isOdd(fn)) {
    fn = half(fn);
    sn = half(sn);
  }
  // Without an odd step the old tree is a perfect subtree, which starts the proof without being in it.
  const path = fn === 0 ? [old.root, ...proof] : [...proof];
  const first = path.shift();
  if (first === undefined) return false;
  let fr = first;
  let sr = first;
  for (const c of path) {
    if (sn === 0) return false;
    if (isOdd(fn) || fn === sn) {
      fr = nodeHash(c, fr);
      sr = nodeHash(c, sr);
      while (!isOdd(fn) && fn !== 0) {
        fn = half(fn);
        sn = half(sn);
      }
    } else {
      sr = nodeHash(sr, c);
    }
    fn = half(fn);
    sn = half(sn);
  }
  return sn === 0 && fr.equals(old.root) && sr.equals(now.root);
}

/**
 * Root of a tree from some of its leaves and the hashes of everything between them, from left to right. Each hash stands
 * for the largest subtree without one of the leaves. @returns undefined if hashes are missing or left over
 */
export function rootFromLeaves(
  size: number,
  leaves: readonly { readonly index: number; readonly hash: Buffer }[],
  hashes: readonly Buffer[],
): Buffer | undefined {
  let used = 0;
  const walk = (from: number, to: number, first: number, end: number): Buffer | undefined => {
    if (first === end) {
      used += 1;
      return hashes[used - 1];
    }
    if (to - from === 1) return end - first === 1 ? leaves[first]?.hash : undefined;
    let width = 1;
    while (width * 2 < to - from) width *= 2;
    let middle = first;
    while (middle < end && (leaves[middle]?.index ?? to) < from + width) middle += 1;
    const left = walk(from, from + width, first, middle);
    const right = left === undefined ? undefined : walk(from + width, to, middle, end);
    return left === undefined || right === undefined ? undefined : nodeHash(left, right);
  };
  if (!isSize(size) || size === 0) return undefined;
  const last = leaves.at(-1);
  if (last !== undefined && last.index >= size) return undefined;
  const root = walk(0, size, 0, leaves.length);
  return used === hashes.length ? root : undefined;
}
