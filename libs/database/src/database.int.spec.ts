import { type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { refusalText } from './database.ts';

const SECRET = 'hunter2';

describe('refusalText', () => {
  let fresh: FreshDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    fresh = await freshDatabase();
    client = new pg.Client({ connectionString: fresh.url });
    await client.connect();
    await client.query(`create table notes (
      id text primary key, text text not null constraint notes_are_short check (length(text) < 10), n int
    )`);
    await client.query('insert into notes values ($1, $2)', [SECRET, 'first']);
  });
  afterAll(async () => {
    await client.end();
    await fresh.drop();
  });

  it.each([
    ['a check', ['a', `much longer than ${SECRET}`, 1], 'SQLSTATE 23514 (constraint notes_are_short of notes)'],
    ['a key', [SECRET, 'again', 1], 'SQLSTATE 23505 (constraint notes_pkey of notes)'],
    ['a missing value', ['b', null, 1], 'SQLSTATE 23502 (column text of notes)'],
    ['a value of another type', ['c', 'text', SECRET], 'SQLSTATE 22P02'],
  ])('names the location for %s and quotes no value', async (_what, values, text) => {
    const refused = client.query('insert into notes values ($1, $2, $3)', values);
    const error: unknown = await refused.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: expect.any(String) });
    expect(refusalText(error as { code: string })).toBe(text);
  });
});
