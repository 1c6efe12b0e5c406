import { subjectToken } from '@agentlens/contracts';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { ReconnectToServerHandler } from '@nats-io/nats-core';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type BusLogger, BusUnavailable, type EventBus, SILENT } from '../event-bus.ts';
import { retry } from '../util/retry.ts';
import { applyStreams } from './apply-streams.ts';
import { NatsEventBus } from './nats-bus.ts';
import { NatsLink } from './nats-link.ts';
import { InvalidNatsAddress, type NatsServers, natsServers } from './server-addresses.ts';
import { READY_WITHIN_MS, whenReady } from './when-ready.ts';

/**
 * Selects the server that was tried longest ago. The client's default is the next in its list, which the first time is
 * the server it just left.
 */
export const anotherServer: ReconnectToServerHandler = (pool) =>
  pool.toSorted((a, b) => a.lastConnect - b.lastConnect)[0] ?? null;

/** Inbox prefix of a connection. Each service has its own, so that others cannot subscribe to its answers. */
export function inboxOf(name: string): string {
  return `_INBOX.${subjectToken(name)}`;
}

export interface NatsBusOptions {
  /** One or several `nats://[user:password@]host[:port]`. */
  readonly servers: string | readonly string[];
  /** Connection name, shown by the server to operators. */
  readonly name: string;
  readonly user?: string;
  readonly password?: string;
  readonly logger?: BusLogger;
  /** Timeout of the first connection; later it reconnects without limit. Default 10,000 ms. */
  readonly connectTimeoutMs?: number;
  readonly publishTimeoutMs?: number;
  /** Maximum number of pending publishes; beyond that, publishing is rejected. */
  readonly maxInFlight?: number;
  /** Create or update the streams of the catalog on connect. Default true. */
  readonly applyStreams?: boolean;
  readonly replicas?: number;
  readonly backOffMs?: readonly number[];
}

const CONNECT_TIMEOUT_MS = 10_000;
const ONE_TRY_MS = 2_000;
const BETWEEN_TRIES_MS = 250;
const API_TIMEOUT_MS = 5_000;
const PUBLISH_TIMEOUT_MS = 2_000;
const MAX_IN_FLIGHT = 1_024;

/**
 * @throws InvalidNatsAddress if an address cannot be parsed
 * @throws BusUnavailable if no server answers within `connectTimeoutMs`, or JetStream does not answer within 30 s
 */
export async function openNatsBus(options: NatsBusOptions): Promise<EventBus> {
  const logger = options.logger ?? SILENT;
  const address = natsServers(options.servers);
  const connection = await firstConnection(options, address);
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: API_TIMEOUT_MS });
  try {
    logger.info({ server: connection.getServer(), version: connection.info?.version }, 'connected to NATS');
    if (options.applyStreams ?? true) {
      const apply = () => applyStreams(manager, logger, { replicas: options.replicas });
      await whenReady(apply, READY_WITHIN_MS, logger);
    }
  } catch (error) {
    await connection.close();
    throw error;
  }
  return new NatsEventBus({
    inbox: inboxOf(options.name),
    link: new NatsLink(connection, logger, address.servers.length),
    client: jetstream(connection, { timeout: API_TIMEOUT_MS }),
    manager,
    logger,
    publishTimeoutMs: options.publishTimeoutMs ?? PUBLISH_TIMEOUT_MS,
    maxInFlight: options.maxInFlight ?? MAX_IN_FLIGHT,
    backOffMs: options.backOffMs,
  });
}

async function firstConnection(options: NatsBusOptions, address: NatsServers): Promise<NatsConnection> {
  const { name } = options;
  const { servers, ...inAddress } = address;
  const account = options.user === undefined ? inAddress : { user: options.user, pass: options.password ?? '' };
  const forMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  try {
    return await retry(
      { isTransient: (error) => !(error instanceof TypeError), forMs, pauseMs: BETWEEN_TRIES_MS },
      () =>
        connect({
          servers: [...servers],
          name,
          inboxPrefix: inboxOf(name),
          ...account,
          timeout: ONE_TRY_MS,
          // Detects a half-open connection within 3 s; the client's defaults take minutes.
          pingInterval: 1_000,
          maxPingOut: 2,
          maxReconnectAttempts: -1,
          reconnectTimeWait: BETWEEN_TRIES_MS,
          reconnectJitter: 100,
          reconnectToServer: anotherServer,
          ignoreAuthErrorAbort: true,
          // Saves a stack trace per request when publishing.
          noAsyncTraces: true,
        }),
    );
  } catch (error) {
    // The client cannot parse an address. No cause, because the error may contain the password.
    if (error instanceof TypeError) throw new InvalidNatsAddress('NATS_URL: the NATS client cannot parse an address');
    throw new BusUnavailable(`no NATS server answered: ${String(error)}`, BETWEEN_TRIES_MS, { cause: error });
  }
}
