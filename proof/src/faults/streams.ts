import { STREAMS } from '@agentlens/contracts';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { until } from '../harness/time.ts';

const DEADLINE_MS = 60_000;
const GIVEN_BACK = '$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED';

/** The streams as their operator sees them, without proxies. */
export class Streams {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;

  private constructor(connection: NatsConnection, manager: JetStreamManager) {
    this.connection = connection;
    this.manager = manager;
  }

  static async open(natsUrl: string): Promise<Streams> {
    // One server of a cluster may be frozen. Then another one is used.
    const silence = { pingInterval: 1_000, maxPingOut: 2 };
    const lasting = { maxReconnectAttempts: -1, reconnectTimeWait: 100 };
    const connection = await connect({ servers: natsUrl.split(','), ...lasting, ...silence });
    return new Streams(connection, await jetstreamManager(connection));
  }

  /**
   * Retries on a new connection: comparing millions of ids blocks this process for longer than a server waits for a
   * ping, so the old connection may be closed.
   */
  async deadLetters(): Promise<number> {
    let last: unknown;
    const ask = async () => {
      try {
        return (await this.manager.streams.info(STREAMS.DEAD_LETTERS.name)).state.messages;
      } catch (error) {
        last = error;
        return undefined;
      }
    };
    return until('NATS to count the dead letters', ask, DEADLINE_MS, async () => String(last));
  }

  /**
   * How often messages were redelivered to the durable consumers of events, which read the stream from its beginning.
   */
  async redeliveries(): Promise<number> {
    let times = 0;
    for await (const { config, delivered } of this.manager.consumers.list(STREAMS.AGENT_EVENTS.name)) {
      if (config.durable_name !== undefined) times += delivered.consumer_seq - delivered.stream_seq;
    }
    return times;
  }

  /** Counts the messages that consumers returned. The broker redelivers each of them at once. */
  async countGivenBack(): Promise<{ count(): Promise<number>; stop(): void }> {
    let times = 0;
    const subscription = this.connection.subscribe(`${GIVEN_BACK}.${STREAMS.AGENT_EVENTS.name}.>`, {
      callback: () => {
        times += 1;
      },
    });
    await this.connection.flush();
    const count = async () => {
      await this.connection.flush();
      return times;
    };
    return { count, stop: () => subscription.unsubscribe() };
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}
