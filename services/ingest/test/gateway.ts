import { type AgentEvent, agentEvents, type EventBatch, type TreeLimits } from '@agentlens/contracts';
import { createMemoryBus, type EventBus, each, type MemoryBusOptions } from '@agentlens/messaging';
import {
  assemblePlatform,
  type Caller,
  createHttpApp,
  createLogger,
  type KeyDirectory,
  loadConfig,
  newApiKey,
  type Platform,
} from '@agentlens/platform';
import { createMemoryState } from '@agentlens/state';
import { type FixedClock, fixedClock } from '@agentlens/testing';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { IngestModule } from '../src/index.ts';

export const NOW = '2026-03-01T12:00:00.000Z';

type InjectOptions = Exclude<Parameters<NestFastifyApplication['inject']>[0], string | undefined>;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: answers are asserted on, member by member
  readonly body: any;
}

export interface Gateway {
  readonly clock: FixedClock;
  readonly bus: EventBus;
  readonly platform: Platform;
  /** Keys by scope. All except `foreign` and `cautious` belong to tenant "acme". */
  readonly keys: Readonly<
    Record<'ingest' | 'agent' | 'bound' | 'admin' | 'reader' | 'slow' | 'foreign' | 'cautious' | 'revoked', string>
  >;
  /** Every published batch, in order. */
  readonly batches: EventBatch[];
  events(): readonly AgentEvent[];
  /** Sets the limits of the run trees of tenant "acme". */
  limitTrees(limits: TreeLimits): void;
  /** Revokes this key. */
  revoke(key: keyof Gateway['keys']): void;
  /** The server as it would listen. */
  readonly app: NestFastifyApplication;
  post(body: unknown, options?: { key?: string; query?: string; headers?: Record<string, string> }): Promise<Answer>;
  /** Sends the request as it is, without additions. */
  inject(options: InjectOptions): Promise<Answer>;
  close(): Promise<void>;
}

export interface GatewayOptions {
  readonly env?: Record<string, string>;
  readonly bus?: MemoryBusOptions;
}

/** The real service over memory adapters with a fixed clock. */
export async function startGateway({ env = {}, bus: busOptions = {} }: GatewayOptions = {}): Promise<Gateway> {
  const clock = fixedClock(NOW);
  const bus = createMemoryBus({ clock, ...busOptions });
  const batches: EventBatch[] = [];
  await bus.watch(agentEvents, { from: 'new' }, ({ value }) => batches.push(value));
  const { keys, directory, revoke, limitTrees } = keyring();
  const platform: Platform = {
    ...assemblePlatform({
      config: loadConfig('standalone', env),
      bus,
      state: createMemoryState({ clock }),
      databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
      secretKeys: [Buffer.alloc(32).toString('base64')],
      logger: createLogger({ name: 'ingest', level: 'fatal' }),
      clock,
    }),
    keys: directory,
  };
  const app = await createHttpApp(platform, [IngestModule.register(platform)]);
  await app.init();
  await app.getHttpAdapter().getInstance().ready();

  const inject = async (options: InjectOptions): Promise<Answer> => {
    const { statusCode, headers, body } = await app.inject(options);
    return { status: statusCode, headers, body: body === '' ? undefined : JSON.parse(body) };
  };
  return {
    app,
    revoke,
    limitTrees,
    clock,
    bus,
    platform,
    keys,
    batches,
    events: () => batches.flatMap((batch) => batch.events),
    inject,
    post: (body, { key = keys.ingest, query = '', headers = {} } = {}) =>
      inject({
        method: 'POST',
        url: `/api/events${query}`,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        payload: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    close: async () => {
      await app.close();
      await platform.close();
    },
  };
}

/** Holds every message and settles none until it is released, like a consumer that hangs. */
export async function hangingConsumer(bus: EventBus): Promise<{ release(): void }> {
  const held = Promise.withResolvers<void>();
  await bus.consume(
    agentEvents,
    { group: 'hanging', concurrency: 16 },
    each(async () => {
      await held.promise;
      return { kind: 'ack' };
    }),
  );
  return { release: () => held.resolve() };
}

export function anEventBody(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    sessionId: 'session-1',
    agentId: 'agent-1',
    eventType: 'custom',
    payload: { type: 'note', data: { n: 1 } },
    ...fields,
  };
}

export function noted(n: number): Record<string, unknown> {
  return anEventBody({ payload: { type: 'note', data: { n } } });
}

function keyring(): Pick<Gateway, 'keys' | 'revoke' | 'limitTrees'> & { readonly directory: KeyDirectory } {
  const keys = {
    ingest: newApiKey().key,
    agent: newApiKey().key,
    bound: newApiKey().key,
    admin: newApiKey().key,
    reader: newApiKey().key,
    slow: newApiKey().key,
    foreign: newApiKey().key,
    cautious: newApiKey().key,
    revoked: newApiKey().key,
  };
  const caller = (fields: Partial<Caller>): Caller => ({
    tenantId: 'acme',
    keyId: 'main',
    scopes: ['ingest'],
    eventsPerSecond: 1_000_000,
    ...fields,
  });
  const callers = new Map<string, Caller>([
    [keys.ingest, caller({})],
    [keys.admin, caller({ keyId: 'admin', scopes: ['admin'] })],
    [keys.agent, caller({ keyId: 'agent', scopes: ['ingest', 'decide'] })],
    [keys.bound, caller({ keyId: 'bound', scopes: ['ingest', 'decide'], agents: ['bot', 'shop'] })],
    [keys.reader, caller({ keyId: 'reader', scopes: ['read'] })],
    [keys.slow, caller({ keyId: 'slow', eventsPerSecond: 10, scopes: ['ingest', 'decide'] })],
    [keys.foreign, caller({ keyId: 'foreign', tenantId: 'globex', scopes: ['ingest', 'decide'] })],
    [
      keys.cautious,
      caller({ keyId: 'cautious', tenantId: 'cautious', scopes: ['ingest', 'decide'], decisionFailMode: 'block' }),
    ],
  ]);
  let treeLimits: TreeLimits | undefined;
  const limitTrees = (limits: TreeLimits) => {
    treeLimits = limits;
  };
  const directory: KeyDirectory = {
    check: async (key) => {
      const found = callers.get(key);
      if (found !== undefined) {
        const limits = found.tenantId === 'acme' && treeLimits !== undefined ? { treeLimits } : {};
        return { kind: 'accepted', caller: { ...found, ...limits } };
      }
      return { kind: 'refused', reason: key === keys.revoked ? 'revoked' : 'unknown' };
    },
  };
  return { keys, directory, limitTrees, revoke: (key) => callers.delete(keys[key]) };
}
