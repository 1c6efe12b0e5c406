import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { guardrailTriggered, type Trigger } from '@agentlens/contracts';
import { type Database, migrate, openDatabase } from '@agentlens/database';
import { connectNatsBus, type EventBus } from '@agentlens/messaging';
import { AesSecretBox, createLogger, HealthRegistry } from '@agentlens/platform';
import { connectRedisState, type StateStores } from '@agentlens/state';
import { freshDatabase, startNats, startRedis } from '@agentlens/testing';
import type { EvaluatorPorts, WiredEvaluator } from '../src/wire.ts';
import { startEvaluator } from './start-evaluator.ts';

const BACK_OFF_MS = [20, 50, 100];

/** A timeout that a busy machine does not reach. Other specs cover slow and unavailable stores. */
const PATIENT = { commandTimeoutMs: 30_000 };

/** One evaluator process with its own connections. */
export interface Replica {
  readonly evaluator: WiredEvaluator;
  stop(): Promise<void>;
}

/** Real NATS, Redis and Postgres servers, and any number of evaluators on them. */
export interface Harness {
  /** The bus of another client, which publishes events and sends commands. */
  readonly bus: EventBus;
  readonly database: Database;
  readonly state: StateStores;
  /** The triggers in the stream, each once. */
  readonly triggers: Trigger[];
  readonly databaseUrl: string;
  /** Deletes all data in Redis. */
  flushRedis(): Promise<void>;
  replica(change?: (ports: EvaluatorPorts) => Partial<EvaluatorPorts>): Promise<Replica>;
  close(): Promise<void>;
}

export async function openHarness(): Promise<Harness> {
  const [nats, redis, fresh] = await Promise.all([startNats(), startRedis(), freshDatabase({ migrate })]);
  const secretKey = randomBytes(32).toString('base64');
  const logger = createLogger({ name: 'test', level: 'silent' });
  const connectBus = (name: string) =>
    connectNatsBus({ servers: nats.url, name, backOffMs: BACK_OFF_MS, publishTimeoutMs: PATIENT.commandTimeoutMs });
  const openDb = () => openDatabase({ url: fresh.url, role: 'guardrail-evaluator', maxConnections: 4 });
  const bus = await connectBus('outside');
  const state = await connectRedisState({ url: redis.url, ...PATIENT });
  const database = openDb();
  const triggers: Trigger[] = [];
  await bus.watch(guardrailTriggered, { from: 'new' }, ({ value }) => triggers.push(value));
  const replicas = new Set<Replica>();

  return {
    bus,
    database,
    state,
    triggers,
    databaseUrl: fresh.url,
    flushRedis: () => flush(redis.url),
    replica: async (change = () => ({})) => {
      const own = {
        bus: await connectBus('evaluator'),
        state: await connectRedisState({ url: redis.url, ...PATIENT }),
        db: openDb(),
      };
      const ports: EvaluatorPorts = {
        bus: own.bus,
        windows: own.state.windows,
        cooldowns: own.state.cooldowns,
        calls: own.state.calls,
        labels: own.state.labels,
        breakers: own.state.breakers,
        budgets: own.state.budgets,
        control: { stateOf: () => ({ kind: 'none', modelOverride: null }) },
        database: own.db,
        clock: Date,
        secrets: new AesSecretBox([secretKey]),
        egressPolicy: { allow: [] },
        logger,
        health: new HealthRegistry(),
      };
      const { evaluator, stop } = await startEvaluator({ ...ports, ...change(ports) });
      const replica: Replica = {
        evaluator,
        stop: async () => {
          replicas.delete(replica);
          await stop();
          await own.bus.close();
          await own.state.close();
          await own.db.close();
        },
      };
      replicas.add(replica);
      return replica;
    },
    close: async () => {
      for (const replica of [...replicas]) await replica.stop();
      await bus.close();
      await state.close();
      await database.close();
      await fresh.drop();
      await Promise.all([nats.stop(), redis.stop()]);
    },
  };
}

async function flush(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write('FLUSHALL\r\n');
  await once(socket, 'data');
  socket.destroy();
}
