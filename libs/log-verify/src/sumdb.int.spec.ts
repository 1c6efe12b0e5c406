import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { openSigner, planConsistency, planInclusion, signCheckpoint, writeVerifierKey } from '@agentlens/log';
import { readLeaves, rootsOfGrowingTree } from '@agentlens/log/testing';
import { describe, expect, it } from '@jest/globals';

const BUILD_TIMEOUT_MS = 120_000;
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'agentlens', 'tools', 'log-sumdb');

/** The program around Go's sumdb, built once; undefined where there is no Go or its module cannot be had. */
function buildVerifier(): string | undefined {
  mkdirSync(cache, { recursive: true });
  const program = join(cache, 'verify');
  const built = spawnSync('go', ['build', '-trimpath', '-buildvcs=false', '-o', program, '.'], {
    cwd: join(import.meta.dirname, '..', 'interop'),
    timeout: BUILD_TIMEOUT_MS,
  });
  return built.status === 0 ? program : undefined;
}

const program = buildVerifier();
const ORIGIN = 'test/log/1';
const signer = openSigner(Buffer.alloc(32, 3));
const SIZES = [1, 2, 3, 7, 8, 255, 256, 257, 300, 1_000];
const leaves = Array.from({ length: 1_000 }, (_, n) => `leaf ${n}`);
const roots = rootsOfGrowingTree(leaves);
const rootAt = (size: number) => roots[size] ?? Buffer.alloc(0);
const toTexts = (hashes: readonly Buffer[]) => hashes.map((hash) => hash.toString('base64'));

async function makeFixture(size: number) {
  const tree = readLeaves(leaves.slice(0, size));
  const indices = [...new Set([0, 1, Math.floor(size / 2), size - 1])].filter((index) => index < size);
  const inclusion = indices.map(async (index) => ({
    ...{ index, leaf: leaves[index] ?? '' },
    proof: toTexts(await tree.prove(planInclusion(index, size))),
  }));
  const consistency = SIZES.filter((from) => from <= size).map(async (from) => ({
    ...{ from, root: rootAt(from).toString('base64') },
    proof: toTexts(await tree.prove(planConsistency(from, size))),
  }));
  return {
    key: writeVerifierKey(ORIGIN, signer.publicKey),
    note: signCheckpoint({ origin: ORIGIN, size, root: rootAt(size) }, signer),
    ...{ size, root: rootAt(size).toString('base64') },
    inclusion: await Promise.all(inclusion),
    consistency: await Promise.all(consistency),
  };
}

function judge(fixture: unknown) {
  const { status, stderr } = spawnSync(program ?? '', [], { input: JSON.stringify(fixture), encoding: 'utf8' });
  return { status, stderr };
}

(program === undefined ? describe.skip : describe)("Go's checksum database", () => {
  it.each(SIZES)('accepts the checkpoint and the proofs of a log of %i entries', async (size) => {
    expect(judge(await makeFixture(size))).toEqual({ status: 0, stderr: '' });
  });

  it('refuses another leaf, another old root and another checkpoint', async () => {
    const good = await makeFixture(300);
    const [leaf, ...others] = good.inclusion;
    const [old, ...later] = good.consistency.slice(2);
    const verdicts = [
      judge({ ...good, inclusion: [{ ...leaf, leaf: 'other' }, ...others] }),
      judge({ ...good, consistency: [{ ...old, root: rootAt(5).toString('base64') }, ...later] }),
      judge({ ...good, note: good.note.replace('\n300\n', '\n301\n') }),
    ];
    expect(verdicts.map(({ status }) => status)).toEqual([1, 1, 1]);
    expect(verdicts.map(({ stderr }) => stderr.split(':')[0])).toEqual([
      'inclusion of 0',
      'consistency from 3',
      'the checkpoint',
    ]);
  });
});
