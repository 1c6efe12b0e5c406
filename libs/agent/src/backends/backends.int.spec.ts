import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FreshDatabase, freshDatabase, startRedis, type TestServer } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Message } from '../core/message.ts';
import type { DatabaseClient } from '../memory/database-client.ts';
import { InMemoryDatabaseClient } from '../memory/in-memory-database-client.ts';
import { InMemoryMemoryClient } from '../memory/in-memory-memory-client.ts';
import type { MemoryClient } from '../memory/memory-client.ts';
import { encrypted } from '../security/encrypted.ts';
import { staticKeys } from '../security/sealed.ts';
import { AgentSession } from '../session/agent-session.ts';
import { DatabaseSessionStore } from '../session/database-session-store.ts';
import { FileSessionStore } from '../session/file-session-store.ts';
import { MemorySessionStore } from '../session/memory-session-store.ts';
import { databaseClientContract } from '../testing/contracts/database-client.contract.ts';
import { memoryClientContract } from '../testing/contracts/memory-client.contract.ts';
import { sessionStoreContract } from '../testing/contracts/session-store.contract.ts';
import { PostgresDatabaseClient } from './postgres/database.ts';
import { PostgresMemoryClient } from './postgres/memory.ts';
import { RedisDatabaseClient } from './redis/database.ts';
import { RedisMemoryClient } from './redis/memory.ts';
import { SqliteDatabaseClient } from './sqlite/database.ts';
import { SqliteMemoryClient } from './sqlite/memory.ts';

let folder: string;
let postgres: FreshDatabase;
let redis: TestServer;
const open: (MemoryClient | DatabaseClient)[] = [];
const kept = <T extends MemoryClient | DatabaseClient>(client: T): T => {
  open.push(client);
  return client;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-backends-'));
  postgres = await freshDatabase();
  redis = await startRedis();
});
afterAll(async () => {
  for (const client of open) await client.close?.();
  await redis.stop();
  await postgres.drop();
  await rm(folder, { recursive: true, force: true });
});

function clock() {
  let nowMs = 1_800_000_000_000;
  const now = () => nowMs;
  const advance = (ms: number) => {
    nowMs += ms;
  };
  return { now, advance };
}
const path = () => join(folder, 'agent.sqlite');
const keys = staticKeys({ k1: Buffer.alloc(32, 7) }, 'k1');

/** Two clients of one store with one clock. */
function pair<T extends MemoryClient | DatabaseClient>(make: (now: () => number) => T) {
  const { now, advance } = clock();
  return { client: kept(make(now)), other: kept(make(now)), advance };
}
function single<T extends MemoryClient | DatabaseClient>(make: (now: () => number) => T) {
  const { now, advance } = clock();
  const client = make(now);
  return { client, other: client, advance };
}

memoryClientContract('this process', async () => single((now) => new InMemoryMemoryClient({ now })));
memoryClientContract('SQLite', async () => pair((now) => new SqliteMemoryClient({ path: path(), now })));
memoryClientContract('Redis', async () => pair((now) => new RedisMemoryClient({ url: redis.url, now })));
memoryClientContract('Postgres', async () =>
  pair((now) => new PostgresMemoryClient({ connectionString: postgres.url, now })),
);

databaseClientContract('this process', async () => single((now) => new InMemoryDatabaseClient({ now })));
databaseClientContract('SQLite', async () => pair((now) => new SqliteDatabaseClient({ path: path(), now })));
databaseClientContract('Redis', async () => pair((now) => new RedisDatabaseClient({ url: redis.url, now })));
databaseClientContract('Postgres', async () =>
  pair((now) => new PostgresDatabaseClient({ connectionString: postgres.url, now })),
);
memoryClientContract('an encrypted memory', async () => {
  const { now, advance } = clock();
  const inner = new InMemoryMemoryClient({ now });
  return { client: encrypted(inner, keys), other: encrypted(inner, keys), advance, searchesAllStreams: false };
});
databaseClientContract('an encrypted store', async () =>
  single((now) => encrypted(new InMemoryDatabaseClient({ now }), keys)),
);

sessionStoreContract('this process', async () => new DatabaseSessionStore(new InMemoryDatabaseClient()));
sessionStoreContract('SQLite', async () => new DatabaseSessionStore(kept(new SqliteDatabaseClient({ path: path() }))));
sessionStoreContract('Redis', async () => new DatabaseSessionStore(kept(new RedisDatabaseClient({ url: redis.url }))));
sessionStoreContract(
  'Postgres',
  async () => new DatabaseSessionStore(kept(new PostgresDatabaseClient({ connectionString: postgres.url }))),
);
sessionStoreContract('an encrypted memory', async () => encrypted(new MemorySessionStore(), keys));

describe('an encrypted store', () => {
  const secret = 'the moon is made of cheese';

  it('stores nothing of a session in plain text', async () => {
    const store = encrypted(new FileSessionStore(join(folder, 'sealed')), keys);
    const session = new AgentSession('coder', { sessionId: 's', metadata: { note: secret } });
    session.addMessage(Message.user(secret));
    await session.save(store);
    for (const file of ['history.jsonl', 'metadata.json'])
      expect(await readFile(join(folder, 'sealed', 's', file), 'utf8')).not.toContain('moon');
    expect((await AgentSession.load(store, 's')).getHistory()).toEqual([Message.user(secret)]);
  });

  it('detects rows that were swapped, changed, truncated or sealed with another key', async () => {
    const inner = new MemorySessionStore();
    const store = encrypted(inner, keys);
    const session = new AgentSession('coder', { sessionId: 's' });
    for (const text of ['a', 'b', 'c']) session.addMessage(Message.user(text));
    await session.save(store);
    const { entries, meta } = await inner.load('s');
    const withEntries = async (changed: readonly object[]) => {
      const other = new MemorySessionStore();
      await other.create(meta);
      await other.append('s', changed as typeof entries);
      return encrypted(other, keys).load('s');
    };
    const sealedOf = (index: number) => (entries[index] as unknown as { sealed: { ct: string } }).sealed;
    await expect(withEntries(entries)).resolves.toMatchObject({ torn: false });
    await expect(
      withEntries([{ ...entries[0], sealed: sealedOf(1) }, { ...entries[1], sealed: sealedOf(0) }, entries[2] ?? {}]),
    ).rejects.toMatchObject({ code: 'decrypt_failed' });
    const flipped = { ...sealedOf(0), ct: `A${sealedOf(0).ct.slice(1)}`, tag: 'AAAAAAAAAAAAAAAAAAAAAA==' };
    await expect(withEntries([{ ...entries[0], sealed: flipped }, ...entries.slice(1)])).rejects.toMatchObject({
      code: 'decrypt_failed',
    });
    await expect(withEntries(entries.slice(0, 2))).rejects.toMatchObject({ code: 'session_corrupt' });
    await expect(encrypted(inner, staticKeys({ k2: Buffer.alloc(32, 9) }, 'k2')).load('s')).rejects.toMatchObject({
      code: 'decrypt_failed',
    });
  });

  it('reads data sealed with an old key after key rotation', async () => {
    const inner = new InMemoryMemoryClient();
    await encrypted(inner, keys).append('stream', secret);
    const rotated = encrypted(inner, staticKeys({ k1: Buffer.alloc(32, 7), k2: Buffer.alloc(32, 8) }, 'k2'));
    await rotated.append('stream', 'second');
    expect((await rotated.read('stream')).map(({ entry }) => entry)).toEqual([secret, 'second']);
    expect((await rotated.search?.('cheese', { streamKey: 'stream' }))?.[0]).toMatchObject({ seq: 1 });
    expect(JSON.stringify(await inner.read('stream'))).not.toContain('moon');
    expect((await inner.read('stream')).map(({ entry }) => (entry as { kid: string }).kid)).toEqual(['k1', 'k2']);
  });

  it('rejects a memory entry moved to another position', async () => {
    const inner = new InMemoryMemoryClient();
    const memory = encrypted(inner, keys);
    for (const entry of ['pay 5', 'pay 500']) await memory.append('stream', entry);
    const [first, second] = await inner.read('stream');
    const swapped = new InMemoryMemoryClient();
    for (const row of [second, first]) await swapped.append('stream', row?.entry ?? null);
    await expect(encrypted(swapped, keys).read('stream')).rejects.toMatchObject({ code: 'decrypt_failed' });
    const moved = new InMemoryMemoryClient();
    for (const row of [first, second]) await moved.append('other', row?.entry ?? null);
    await expect(encrypted(moved, keys).read('other')).rejects.toMatchObject({ code: 'decrypt_failed' });
    expect((await memory.read('stream')).map(({ entry }) => entry)).toEqual(['pay 5', 'pay 500']);
  });

  it('rejects a document moved to another place', async () => {
    const inner = new InMemoryDatabaseClient();
    const store = encrypted(inner, keys);
    await store.write('users', 'ann', { role: 'admin' });
    const sealed = await inner.read('users', 'ann');
    await inner.write('users', 'bob', sealed?.value ?? null);
    await expect(store.read('users', 'bob')).rejects.toMatchObject({ code: 'decrypt_failed' });
  });

  it('requires keys of 32 bytes', () => {
    expect(() => staticKeys({ k: Buffer.alloc(16) }, 'k')).toThrow(expect.objectContaining({ code: 'invalid_config' }));
    expect(() => staticKeys({}, 'k')).toThrow(expect.objectContaining({ code: 'invalid_config' }));
  });
});
