import { hashLeaf, planConsistency, planInclusion, planSharedProof } from '@agentlens/log';
import { readLeaves, rootsOfGrowingTree } from '@agentlens/log/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checkConsistency, checkInclusion, leafHash, rootFromLeaves } from './tree.ts';

const MOST = 300;
const leaves = Array.from({ length: MOST }, (_, n) => `leaf ${n}`);
const roots = rootsOfGrowingTree(leaves);
const rootAt = (size: number) => roots[size] ?? Buffer.alloc(0);
const hashes = leaves.map(hashLeaf);
const hashAt = (index: number) => hashes[index] ?? Buffer.alloc(0);

/** The same proof with one bit changed, for each hash. */
const damaged = (proof: readonly Buffer[]) =>
  proof.map((_, at) =>
    proof.map((hash, n) => {
      if (n !== at) return hash;
      const other = Buffer.from(hash);
      other.writeUInt8(other.readUInt8(7) ^ 1, 7);
      return other;
    }),
  );

describe('proofs of the log, checked by code that shares nothing with it', () => {
  it('hashes leaves alike', () => {
    expect(leafHash('leaf 7')).toEqual(hashLeaf('leaf 7'));
  });

  it('includes every leaf in every tree of up to 300', async () => {
    const wrong: string[] = [];
    for (let size = 1; size <= MOST; size++) {
      const tree = readLeaves(leaves.slice(0, size));
      for (let index = 0; index < size; index++) {
        const proof = await tree.prove(planInclusion(index, size));
        const accepts = (leaf: number, path = proof, at = index) =>
          checkInclusion(at, size, hashAt(leaf), path, rootAt(size));
        if (!accepts(index)) wrong.push(`${index}/${size} refused`);
        if (accepts((index + 1) % MOST)) wrong.push(`${index}/${size} accepts another leaf`);
        if (size > 1 && accepts(index, proof, (index + 1) % size)) wrong.push(`${index}/${size} accepts another place`);
        if (accepts(index, [...proof, hashAt(0)])) wrong.push(`${index}/${size} accepts a longer proof`);
        if (proof.length > 0 && accepts(index, proof.slice(1))) wrong.push(`${index}/${size} accepts a shorter proof`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('shows that every tree of up to 300 starts with every smaller one', async () => {
    const wrong: string[] = [];
    for (let size = 1; size <= MOST; size++) {
      const tree = readLeaves(leaves.slice(0, size));
      for (let old = 1; old <= size; old++) {
        const proof = await tree.prove(planConsistency(old, size));
        const accepts = (path: readonly Buffer[], before = rootAt(old)) =>
          checkConsistency({ size: old, root: before }, { size, root: rootAt(size) }, path);
        if (!accepts(proof)) wrong.push(`${old} to ${size} refused`);
        if (accepts(proof, rootAt(old + 1 > MOST ? 1 : old + 1))) wrong.push(`${old} to ${size} accepts another root`);
        if (accepts([...proof, hashAt(0)])) wrong.push(`${old} to ${size} accepts a longer proof`);
        if (damaged(proof).some((path) => accepts(path))) wrong.push(`${old} to ${size} accepts a changed proof`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('leads from any leaves to the root with one shared proof', async () => {
    const chosen = fc.uniqueArray(fc.nat(MOST - 1), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: MOST }), chosen, async (size, numbers) => {
        const indices = numbers.filter((index) => index < size).sort((a, b) => a - b);
        const proof = await readLeaves(leaves.slice(0, size)).prove(planSharedProof(indices, size));
        const given = indices.map((index) => ({ index, hash: hashAt(index) }));
        expect(rootFromLeaves(size, given, proof)).toEqual(rootAt(size));
        expect(rootFromLeaves(size, given, [...proof, hashAt(0)])).toBeUndefined();
        if (proof.length > 0) expect(rootFromLeaves(size, given, proof.slice(1))).toBeUndefined();
        for (const path of damaged(proof)) expect(rootFromLeaves(size, given, path)).not.toEqual(rootAt(size));
        if (given.length > 0) expect(rootFromLeaves(size, given.slice(1), proof)).not.toEqual(rootAt(size));
      }),
    );
  });

  it('refuses sizes and positions that do not exist', () => {
    expect(checkInclusion(0, 0, hashAt(0), [], rootAt(0))).toBe(false);
    expect(checkInclusion(-1, 4, hashAt(0), [], rootAt(4))).toBe(false);
    expect(checkInclusion(1.5, 4, hashAt(0), [], rootAt(4))).toBe(false);
    expect(checkConsistency({ size: 0, root: rootAt(0) }, { size: 4, root: rootAt(4) }, [])).toBe(false);
    expect(checkConsistency({ size: 5, root: rootAt(5) }, { size: 4, root: rootAt(4) }, [])).toBe(false);
    expect(rootFromLeaves(0, [], [])).toBeUndefined();
    expect(rootFromLeaves(1, [{ index: 3, hash: hashAt(3) }], [])).toBeUndefined();
  });
});
