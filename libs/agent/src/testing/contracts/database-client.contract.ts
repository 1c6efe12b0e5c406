import { describe, expect, it } from '@jest/globals';
import type { DatabaseClient, DatabaseQuery } from '../../memory/database-client.ts';

export interface OpenedDatabase {
  readonly client: DatabaseClient;
  /** A second client of the same store, like that of another process; the same client if there is none. */
  readonly other: DatabaseClient;
  /** Moves the clock of both, in ms. */
  readonly advance: (ms: number) => void;
}

let count = 0;
const collection = () => `collection ${++count} ${Math.random().toString(36).slice(2)}`;
const conflict = { code: 'conflict' };

/** Contract of every database client. */
export function databaseClientContract(name: string, open: () => Promise<OpenedDatabase>): void {
  describe(`${name} as a database client`, () => {
    it('stores documents exactly, with their versions', async () => {
      const { client, other } = await open();
      const within = collection();
      const value = { z: 1, a: { b: [1, null, 'ü 👋\u0000'] }, c: false };
      expect(await client.write(within, 'k', value)).toEqual({ version: 1 });
      expect(await other.read(within, 'k')).toEqual({ key: 'k', value, version: 1 });
      expect(await other.write(within, 'k', 'now a text')).toEqual({ version: 2 });
      expect(await client.read(within, 'k')).toMatchObject({ value: 'now a text', version: 2 });
      expect(await client.read(within, 'other')).toBeNull();
      expect(await client.read(collection(), 'k')).toBeNull();
    });

    it('writes only if its conditions hold', async () => {
      const { client, other } = await open();
      const within = collection();
      await client.write(within, 'k', 1, { ifAbsent: true });
      await expect(other.write(within, 'k', 2, { ifAbsent: true })).rejects.toMatchObject(conflict);
      await other.write(within, 'k', 2, { ifVersion: 1 });
      await expect(client.write(within, 'k', 3, { ifVersion: 1 })).rejects.toMatchObject(conflict);
      await expect(client.write(within, 'none', 3, { ifVersion: 1 })).rejects.toMatchObject(conflict);
      expect(await client.read(within, 'k')).toMatchObject({ value: 2, version: 2 });
    });

    it('lets one of many writers win', async () => {
      const { client, other } = await open();
      const within = collection();
      const tries = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) =>
          (index % 2 === 0 ? client : other).write(within, 'k', index, { ifAbsent: true }),
        ),
      );
      expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      await Promise.all(
        Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? client : other).write(within, 'k', index)),
      );
      expect(await client.read(within, 'k')).toMatchObject({ version: 11 });
    });

    it('finds documents by their fields', async () => {
      const { client } = await open();
      const within = collection();
      const documents = {
        a: { n: 1, s: 'x', deep: { flag: true }, list: [1] },
        b: { n: 2, s: 'y', deep: { flag: false } },
        c: { n: 10, s: 'x', deep: { flag: null } },
        d: { n: '2', s: 'z' },
        e: 'no object',
      };
      for (const [key, value] of Object.entries(documents)) await client.write(within, key, value);
      const keys = async (query: DatabaseQuery) => (await client.query(within, query)).map(({ key }) => key);
      expect(await keys({})).toEqual(['a', 'b', 'c', 'd', 'e']);
      expect(await keys({ where: { s: 'x' } })).toEqual(['a', 'c']);
      expect(await keys({ where: { n: 2 } })).toEqual(['b']);
      expect(await keys({ where: { n: '2' } })).toEqual(['d']);
      expect(await keys({ where: { n: { gt: 1 } } })).toEqual(['b', 'c']);
      expect(await keys({ where: { n: { gte: 1, lt: 10 }, s: 'x' } })).toEqual(['a']);
      expect(await keys({ where: { s: { gte: 'y' } } })).toEqual(['b', 'd']);
      expect(await keys({ where: { s: { in: ['y', 'z'] } } })).toEqual(['b', 'd']);
      expect(await keys({ where: { s: { in: [] } } })).toEqual([]);
      expect(await keys({ where: { 'deep.flag': true } })).toEqual(['a']);
      expect(await keys({ where: { 'deep.flag': null } })).toEqual(['c']);
      expect(await keys({ where: { missing: 1 } })).toEqual([]);
      expect(await keys({ orderBy: { field: 'n', descending: true }, where: { s: { in: ['x', 'y'] } } })).toEqual([
        'c',
        'b',
        'a',
      ]);
      expect(
        await keys({ orderBy: { field: 'deep.flag' }, where: { 'deep.flag': { in: [true, false] } }, limit: 1 }),
      ).toHaveLength(1);
      await expect(client.query(within, { where: { "n' OR 1=1 --": 1 } })).rejects.toMatchObject({
        code: 'invalid_input',
      });
      await expect(client.query(within, { limit: 0 })).rejects.toMatchObject({ code: 'invalid_input' });
    });

    it('pages through keys in order', async () => {
      const { client } = await open();
      const within = collection();
      for (const key of ['b/2', 'a', 'b/10', 'B', 'b', 'c', 'b%']) await client.write(within, key, { key });
      const keys = async (query: DatabaseQuery) => (await client.query(within, query)).map(({ key }) => key);
      expect(await keys({})).toEqual(['B', 'a', 'b', 'b%', 'b/10', 'b/2', 'c']);
      expect(await keys({ prefix: 'b/' })).toEqual(['b/10', 'b/2']);
      expect(await keys({ prefix: 'b', after: 'b%', limit: 1 })).toEqual(['b/10']);
      expect(await keys({ after: 'b/2' })).toEqual(['c']);
      expect(await keys({ prefix: 'b', after: 'a' })).toEqual(['b', 'b%', 'b/10', 'b/2']);
    });

    it('drops expired documents', async () => {
      const { client, advance } = await open();
      const within = collection();
      await client.write(within, 'k', 'brief', { ttlMs: 1_000 });
      advance(1_001);
      expect(await client.read(within, 'k')).toBeNull();
      expect(await client.query(within)).toEqual([]);
      expect(await client.delete?.(within, 'k')).toBe(false);
      expect(await client.write(within, 'k', 'again', { ifAbsent: true })).toEqual({ version: 1 });
    });

    it('searches documents by words, and deletes them', async () => {
      const { client } = await open();
      const within = collection();
      await client.write(within, 'a', { title: 'Release notes', text: 'the API changed' });
      await client.write(within, 'b', { title: 'Lunch' });
      expect((await client.search?.('api release', { collection: within }))?.map(({ key }) => key)).toEqual(['a']);
      await client.write(within, 'a', { title: 'Nothing' });
      expect(await client.search?.('api', { collection: within })).toEqual([]);
      expect(await client.search?.('" OR 1=1 --', { collection: within })).toEqual([]);
      expect(await client.delete?.(within, 'b')).toBe(true);
      expect(await client.delete?.(within, 'b')).toBe(false);
      expect(await client.search?.('lunch', { collection: within })).toEqual([]);
    });
  });
}
