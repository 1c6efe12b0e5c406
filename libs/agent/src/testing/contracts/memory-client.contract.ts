import { describe, expect, it } from '@jest/globals';
import { type MemoryClient, nextNumberOf } from '../../memory/memory-client.ts';

export interface OpenedMemory {
  readonly client: MemoryClient;
  /** A second client of the same store, like that of another process; the same client if there is none. */
  readonly other: MemoryClient;
  /** Moves the clock of both, in ms. */
  readonly advance: (ms: number) => void;
  /** False if only a named stream can be searched. */
  readonly searchesAllStreams?: boolean;
}

let count = 0;
const stream = () => `stream ${++count} ${Math.random().toString(36).slice(2)}`;

/** Contract of every memory client. */
export function memoryClientContract(name: string, open: () => Promise<OpenedMemory>): void {
  describe(`${name} as a memory client`, () => {
    it('stores entries in order and exactly', async () => {
      const { client, other } = await open();
      const key = stream();
      const entries = ['text', 1.5, null, true, [1, { a: 'ü 👋\u0000' }], { z: 1, a: { b: [] } }];
      const numbers = [];
      for (const entry of entries) numbers.push((await client.append(key, entry)).seq);
      expect(numbers).toEqual([1, 2, 3, 4, 5, 6]);
      expect(await other.read(key)).toEqual(entries.map((entry, index) => ({ seq: index + 1, entry })));
      expect(await client.read(stream())).toEqual([]);
    });

    it('reads what is new, and what is newest', async () => {
      const { client } = await open();
      const key = stream();
      for (const entry of ['a', 'b', 'c', 'd']) await client.append(key, entry);
      const read = async (options: object) => (await client.read(key, options)).map(({ entry }) => entry);
      expect(await read({ after: 2 })).toEqual(['c', 'd']);
      expect(await read({ last: 2 })).toEqual(['c', 'd']);
      expect(await read({ after: 1, last: 2 })).toEqual(['c', 'd']);
      expect(await read({ last: 9 })).toEqual(['a', 'b', 'c', 'd']);
    });

    it('gives concurrent appends unique numbers', async () => {
      const { client, other } = await open();
      const key = stream();
      const appended = await Promise.all(
        Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? client : other).append(key, index)),
      );
      expect([...new Set(appended.map(({ seq }) => seq))].sort((a, b) => a - b)).toEqual(
        Array.from({ length: 40 }, (_, index) => index + 1),
      );
      expect((await client.read(key)).map(({ seq }) => seq)).toEqual(
        Array.from({ length: 40 }, (_, index) => index + 1),
      );
    });

    it('appends under the expected number, and returns the next one if it is taken', async () => {
      const { client, other } = await open();
      const key = stream();
      expect(await client.append(key, 'a', { seq: 1 })).toEqual({ seq: 1 });
      const refused = await other.append(key, 'b', { seq: 1 }).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: 'conflict' });
      expect(nextNumberOf(refused)).toBe(2);
      expect(await other.append(key, 'b', { seq: 2 })).toEqual({ seq: 2 });
      expect(await client.read(key)).toEqual([
        { seq: 1, entry: 'a' },
        { seq: 2, entry: 'b' },
      ]);
    });

    it('deduplicates repeated appends', async () => {
      const { client, other } = await open();
      const key = stream();
      const both = await Promise.all([
        client.append(key, 'a', { idempotencyKey: 'k' }),
        other.append(key, 'a', { idempotencyKey: 'k' }),
      ]);
      expect(new Set(both.map(({ seq }) => seq)).size).toBe(1);
      expect(await client.append(key, 'b', { idempotencyKey: 'k' })).toEqual(both[0]);
      expect((await client.append(stream(), 'a', { idempotencyKey: 'k' })).seq).toBe(1);
      expect((await client.read(key)).map(({ entry }) => entry)).toEqual(['a']);
    });

    it('drops expired entries and keeps the rest', async () => {
      const { client, advance } = await open();
      const key = stream();
      await client.append(key, 'brief word', { ttlMs: 1_000 });
      await client.append(key, 'lasting word');
      expect(await client.read(key)).toHaveLength(2);
      advance(1_001);
      expect((await client.read(key)).map(({ seq }) => seq)).toEqual([2]);
      expect(await client.search?.('brief', { streamKey: key })).toEqual([]);
      expect((await client.append(key, 'next')).seq).toBe(3);
      expect((await client.read(key)).map(({ seq }) => seq)).toEqual([2, 3]);
    });

    it('finds entries by words, best first', async () => {
      const { client, searchesAllStreams = true } = await open();
      const [one, two] = [stream(), stream()];
      await client.append(one, { role: 'user', content: [{ text: 'The deploy of the billing service failed' }] });
      await client.append(one, 'billing billing billing: failed deploy');
      await client.append(one, 'lunch was good');
      await client.append(two, 'another deploy in another stream');
      const found = await client.search?.('Deploy billing!', { streamKey: one });
      expect(found?.map(({ seq }) => seq).sort()).toEqual([1, 2]);
      expect(found?.[0]?.score).toBeGreaterThanOrEqual(found?.[1]?.score ?? 0);
      expect(await client.search?.('deploy', { streamKey: one, topK: 1 })).toHaveLength(1);
      expect((await client.search?.('deploy'))?.some(({ streamKey }) => streamKey === two)).toBe(searchesAllStreams);
      expect(await client.search?.('deploy', { streamKey: one, minScore: 1e9 })).toEqual([]);
    });

    it.each(['"', "'", '*', 'a OR', ') --', "' OR 1=1", 'a & | ! <->', 'NEAR(a b)', 'col:x', '%', '\\', ''])(
      'treats %j as text',
      async (query) => {
        const { client } = await open();
        const key = stream();
        await client.append(key, 'something else');
        expect(await client.search?.(query, { streamKey: key })).toEqual([]);
      },
    );

    it('clears a stream without reusing its numbers', async () => {
      const { client } = await open();
      const key = stream();
      await client.append(key, 'a');
      await client.clear?.(key);
      expect(await client.read(key)).toEqual([]);
      expect((await client.append(key, 'b')).seq).toBe(2);
    });
  });
}
