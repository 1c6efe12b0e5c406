import { type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type Columns, JsonText, RowArray, type RowType, readRowTypes } from './row-array.ts';

describe('row arrays', () => {
  let fresh: FreshDatabase;
  let pool: pg.Pool;
  let type: RowType;

  beforeAll(async () => {
    fresh = await freshDatabase();
    pool = new pg.Pool({ connectionString: fresh.url, max: 1 });
    await pool.query(
      'create type thing as (name text, yes boolean, count bigint, share double precision, tags text[], body jsonb)',
    );
    type = (await readRowTypes(pool, ['thing'])).thing;
  });
  afterAll(async () => {
    await pool.end();
    await fresh.drop();
  });

  type Row = Readonly<Record<string, unknown>>;
  const columns: Columns<Row> = Object.fromEntries(
    ['name', 'yes', 'count', 'share', 'tags', 'body'].map((name) => [name, (row: Row) => row[name]]),
  );
  const rowsFor = (...rows: Row[]): RowArray<Row> => {
    const array = new RowArray(type, columns, 32);
    for (const row of rows) array.add(row);
    return array;
  };

  async function answered(array: RowArray<Row>): Promise<unknown[]> {
    const text = 'select name, yes, count::text, share, tags, body from unnest($1::thing[])';
    return (await pool.query(text, [array.toBuffer()])).rows;
  }

  it('round-trip through the server', async () => {
    const rows = [
      { name: 'ü 😀 "\\', yes: true, count: 2 ** 53 - 1, share: 0.1, tags: ['a', 'ü'], body: { n: [1, 'ü', null] } },
      { name: '', yes: false, count: -(2 ** 40) - 1, share: -0, tags: [], body: 'text' },
    ];

    expect(await answered(rowsFor(...rows))).toEqual(rows.map((row) => ({ ...row, count: String(row.count) })));
  });

  it.each([47, 48, 49, 5_000])('contain texts of %i characters with any characters', async (length) => {
    const texts = ['a', 'ü', '\u007f', '\u0080', '😀'].map((character) => character.repeat(length));
    const late = `${'a'.repeat(length - 1)}ü`;
    const rows = [...texts, late].map((name) => ({ name, tags: [name, 'b'], body: name }));

    expect(await answered(rowsFor(...rows))).toMatchObject(rows);
  });

  it('contain null for missing values, and may be empty', async () => {
    const nothing = { name: null, yes: null, count: null, share: null, tags: null, body: null };
    expect(await answered(rowsFor({}, { ...nothing, body: undefined }))).toEqual([nothing, nothing]);
    expect(await answered(rowsFor())).toEqual([]);
  });

  it('contain JSON text unchanged', async () => {
    const array = rowsFor({ body: new JsonText('{"n":1e400}') });
    const { rows } = await pool.query(`select body->'n' = '1e400'::jsonb as same from unnest($1::thing[])`, [
      array.toBuffer(),
    ]);
    expect(rows).toEqual([{ same: true }]);
    await expect(answered(rowsFor({ body: new JsonText('{') }))).rejects.toMatchObject({ code: '22P02' });
  });

  it('contain only rows added since they were cleared', async () => {
    const array = rowsFor({ name: 'a long name' }, { name: 'b' });
    array.clear();
    array.add({ name: 'c' });

    expect(array.count).toBe(1);
    expect(await answered(array)).toMatchObject([{ name: 'c' }]);
  });

  it.each([
    ['name', 7],
    ['name', '\ud800'],
    ['yes', 'true'],
    ['count', 1.5],
    ['count', 2 ** 53],
    ['share', Number.POSITIVE_INFINITY],
    ['tags', [1]],
    ['tags', 'a'],
  ])('reject an invalid value: %s', (name, value) => {
    expect(() => rowsFor({ [name]: value })).toThrow(RangeError);
  });

  it('leave it to the server to reject what only it can check', async () => {
    await expect(answered(rowsFor({ name: '\0' }))).rejects.toMatchObject({ code: '22021' });
    await expect(answered(rowsFor({ body: '\0' }))).rejects.toMatchObject({ code: '22P05' });
  });

  it('require an existing type', async () => {
    await expect(readRowTypes(pool, ['other'])).rejects.toMatchObject({ code: '42704' });
  });
});
