import { keysChanged, PLATFORM_TENANT, type Scope } from '@agentlens/contracts';
import { migrate } from '@agentlens/database';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { ApiKeys, assemblePlatform, createHttpApp, createLogger, loadConfig, type Platform } from '@agentlens/platform';
import { createMemoryState } from '@agentlens/state';
import { type FixedClock, fixedClock, freshDatabase } from '@agentlens/testing';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pg from 'pg';
import { QueryModule } from '../src/index.ts';

export const NOW = '2026-03-01T12:00:00.000Z';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: answers are asserted on, member by member
  readonly body: any;
}

export interface OperatorApi {
  readonly clock: FixedClock;
  readonly bus: EventBus;
  readonly platform: Platform;
  readonly app: NestFastifyApplication;
  /** Connects as the owner of the tables. */
  readonly databaseUrl: string;
  /** Keys by scope. `foreign` is an admin of "globex", `platform` has no tenant, all others belong to "acme". */
  readonly keys: Readonly<
    Record<'admin' | 'reader' | 'ingest' | 'foreign' | 'platform', { readonly id: string; readonly key: string }>
  >;
  /** Inserts as the owner of the tables, bypassing row level security. */
  insert(table: string, row: Record<string, unknown>): Promise<void>;
  /** Calls the API. The default key is the admin's, or the platform's for paths that require it. */
  call(
    method: Method,
    url: string,
    options?: { key?: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer>;
  get(url: string, key?: string): Promise<Answer>;
  newKey(scopes: readonly Scope[], tenantId?: string): Promise<{ id: string; key: string }>;
  close(): Promise<void>;
}

/** The answer of an owner that carried out a command. */
export function granted<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

/** Starts the real service on real Postgres, the memory bus (or the given one) and a fixed clock. */
export async function startOperatorApi(
  given?: EventBus,
  env: Readonly<Record<string, string>> = {},
): Promise<OperatorApi> {
  const clock = fixedClock(NOW);
  const bus = given ?? createMemoryBus({ clock });
  const database = await freshDatabase({ migrate });
  const owner = new pg.Pool({ connectionString: database.url, max: 2 });
  // Dropping the database terminates sessions that are closing, which raises an error here.
  owner.on('error', () => undefined);
  const logger = createLogger({ name: 'query', level: 'fatal' });
  const platform = assemblePlatform({
    config: loadConfig('standalone', env),
    bus,
    state: createMemoryState({ clock }),
    databaseUrl: database.url,
    secretKeys: [Buffer.alloc(32).toString('base64')],
    logger,
    clock,
  });
  await bus.watch(keysChanged, { from: 'new' }, ({ value }) => platform.keys.forget(value.keyId));
  const insert = insertInto(owner);
  for (const id of ['acme', 'globex', PLATFORM_TENANT]) await insert('tenants', { id, name: id, created_at: NOW });
  const apiKeys = new ApiKeys(platform.database('query'), bus, clock, logger);
  const newKey = async (scopes: readonly Scope[], tenantId = 'acme') => {
    const { id, key } = await apiKeys.create({ tenantId, name: scopes.join(), scopes });
    return { id, key };
  };
  const keys = {
    admin: await newKey(['admin']),
    reader: await newKey(['read']),
    ingest: await newKey(['ingest']),
    foreign: await newKey(['admin'], 'globex'),
    platform: await newKey(['platform'], PLATFORM_TENANT),
  };

  const app = await createHttpApp(platform, [QueryModule.register(platform)]);
  await app.init();
  await app.getHttpAdapter().getInstance().ready();

  const usualKey = (url: string) =>
    /^\/api\/(tenants|system\/lag|prices\/table)(?=\?|$)/.test(url) ? keys.platform.key : keys.admin.key;
  const call: OperatorApi['call'] = async (method, url, { key = usualKey(url), body, headers: more } = {}) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more };
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const answer = await app.inject({ method, url, headers, payload });
    return { status: answer.statusCode, headers: answer.headers, body: answer.body === '' ? undefined : answer.json() };
  };
  return {
    clock,
    bus,
    platform,
    app,
    databaseUrl: database.url,
    keys,
    insert,
    call,
    get: (url, key) => call('GET', url, { key }),
    newKey,
    close: async () => {
      await app.close();
      await platform.close();
      await owner.end();
      await database.drop();
    },
  };
}

function insertInto(owner: pg.Pool) {
  return async (table: string, row: Record<string, unknown>) => {
    const columns = Object.keys(row);
    const values = columns.map((column) => bindable(row[column]));
    const places = columns.map((_, i) => `$${i + 1}`);
    await owner.query(`insert into ${table} (${columns.join(', ')}) values (${places.join(', ')})`, values);
  };
}

/** Encodes objects for jsonb columns. Arrays and buffers stay as they are. */
function bindable(value: unknown): unknown {
  const isPlain = typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
  return isPlain ? JSON.stringify(value) : value;
}
