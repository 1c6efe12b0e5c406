import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { KeyReads } from './key-records.ts';

/** A background read is sent within this time, by the fake clock. */
const GATHERED_MS = 250;

describe('reads of keys', () => {
  let statements: { readonly keyIds: readonly string[]; answer(found: boolean): void }[];
  let kept: string[];
  let reads: KeyReads<string>;

  beforeEach(() => {
    statements = [];
    kept = [];
    reads = new KeyReads<string>(
      (keyIds) => {
        const { promise, resolve } = Promise.withResolvers<ReadonlyMap<string, string> | null>();
        const found = new Map(keyIds.map((keyId) => [keyId, `record of ${keyId}`]));
        statements.push({ keyIds, answer: (isFound) => resolve(isFound ? found : null) });
        return promise;
      },
      (keyId) => kept.push(keyId),
    );
  });

  it('gathers keys that are requested while a statement is running', async () => {
    const answers = ['a', 'b', 'c', 'b', 'a'].map((keyId) => reads.now(keyId));
    statements[0]?.answer(true);
    expect(await answers[0]).toBe('record of a');
    statements[1]?.answer(true);
    expect(await Promise.all(answers)).toEqual(['a', 'b', 'c', 'b', 'a'].map((keyId) => `record of ${keyId}`));
    expect(statements.map(({ keyIds }) => keyIds)).toEqual([['a'], ['b', 'c']]);
    expect(kept).toEqual(['a', 'b', 'c']);
  });

  it('splits reads that exceed the limit of a statement', async () => {
    const answers = Array.from({ length: 502 }, (_, i) => reads.now(`key-${i}`));
    statements[0]?.answer(true);
    await answers[0];
    statements[1]?.answer(true);
    await answers[1];
    statements[2]?.answer(true);
    await Promise.all(answers);
    expect(statements.map(({ keyIds }) => keyIds.length)).toEqual([1, 500, 1]);
  });

  it('fails all callers behind a failed statement without running another', async () => {
    const answers = ['a', 'b'].map((keyId) => reads.now(keyId));
    statements[0]?.answer(false);
    expect(await Promise.all(answers)).toEqual([null, null]);
    expect(statements).toHaveLength(1);
    expect(kept).toEqual([]);
  });

  it('reads a key again that was evicted during a read, and keeps only the later result', async () => {
    const before = reads.now('a');
    reads.forget('a');
    const after = reads.now('a');
    statements[0]?.answer(true);
    await before;
    expect(kept).toEqual([]);
    statements[1]?.answer(true);
    await after;
    expect(kept).toEqual(['a']);
  });

  it('batches background reads, or adds them to an urgent read', async () => {
    jest.useFakeTimers();
    try {
      reads.soon('a');
      reads.soon('b');
      expect(statements).toHaveLength(0);
      await jest.advanceTimersByTimeAsync(GATHERED_MS);
      statements[0]?.answer(true);
      await jest.advanceTimersByTimeAsync(0);
      reads.soon('c');
      const urgent = reads.now('d');
      statements[1]?.answer(true);
      await urgent;
      expect(statements.map(({ keyIds }) => keyIds)).toEqual([
        ['a', 'b'],
        ['c', 'd'],
      ]);
    } finally {
      jest.useRealTimers();
    }
  });
});
