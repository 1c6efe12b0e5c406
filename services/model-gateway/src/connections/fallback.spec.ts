import type { Database } from '@agentlens/database';
import { createLogger, type SecretBox } from '@agentlens/platform';
import { fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { type Connection, Connections } from './connections.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const ROW = {
  ...{ dialect: 'openai', base_url: 'https://eu.example/v1', sealed_credential: null, models: null },
  ...{ forward_headers: [], pricing_provider: null, enabled: true, fallback: null, first_byte_seconds: 30 },
};

/** Connections of which only the fallback "eu" is read: as this row, not at all, or with this error. */
function connectionsWith(row: Partial<Record<keyof typeof ROW, unknown>> | undefined | Error) {
  const query = {
    select: () => query,
    where: () => query,
    executeTakeFirst: async () => {
      if (row instanceof Error) throw row;
      return row && { ...ROW, ...row };
    },
  };
  const db = { selectFrom: () => query } as unknown as Database['db'];
  const connections = new Connections({ database: { db }, secrets: {} as SecretBox, clock: fixedClock(), logger });
  const first = {
    ...{ name: 'us', dialect: 'openai' as const, baseUrl: 'https://us.example/v1', sealedCredential: null },
    ...{ models: undefined, forwardHeaders: [], enabled: true, firstByteMs: 1, provider: 'openai' },
  };
  return (fallback: string | undefined, model = 'gpt-4.1') =>
    connections.findFallback('acme', { ...first, fallback }, model);
}

describe('the fallback of a connection', () => {
  it('is the connection that it names', async () => {
    expect(await connectionsWith({})('eu')).toMatchObject({ name: 'eu', firstByteMs: 30_000, provider: 'openai' });
    expect(await connectionsWith({ models: ['gpt-*'] })('eu')).toMatchObject({ name: 'eu' });
  });

  it.each([
    ['it is deleted', undefined],
    ['it is disabled', { enabled: false }],
    ['it does not allow the model', { models: ['gpt-5*'] }],
    ['it speaks another dialect', { dialect: 'gemini' }],
    ['it cannot be read', new Error('the database is away')],
  ])('is not used if %s', async (_why, row) => {
    expect(await connectionsWith(row)('eu')).toBeUndefined();
  });

  it('is not looked for if there is none', async () => {
    expect(await connectionsWith(new Error('read'))(undefined)).toBeUndefined();
  });
});

it('says that the key of a connection cannot be read, instead of asking clients to repeat', () => {
  const secrets = {
    open: () => {
      throw new Error('sealed with another key');
    },
  } as unknown as SecretBox;
  const parts = { database: { db: {} as Database['db'] }, secrets, clock: fixedClock(), logger };
  const sealed = { name: 'eu', dialect: 'openai', sealedCredential: 'sealed' } as Connection;
  expect(() => new Connections(parts).authorize('acme', sealed)).toThrow('An admin has to enter it again');
});
