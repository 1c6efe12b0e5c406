import { STREAMS } from '@agentlens/contracts';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { until } from '../bench/poll.ts';

const DEADLINE_MS = 60_000;
const GIVEN_BACK = '$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED';

/** The streams as their operator sees them, past all proxies. */
export class Streams {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;

  private constructor(connection: NatsConnection, manager: JetStreamManager) {
    this.connection = connection;
    this.manager = manager;
  }

  static async open(natsUrl: string): Promise<Streams> {
    // Of a cluster one server may be frozen: then another is asked.
    const silence = { pingInterval: 1_000, maxPingOut: 2 };
    const lasting = { maxReconnectAttempts: -1, reconnectTimeWait: 100 };
    const connection = await connect({ servers: natsUrl.split(','), ...lasting, ...silence });
    return new Streams(connection, await jetstreamManager(connection));
  }

  /**
   * Comparing millions of ids holds this process up for longer than a server waits for a sign of its clients: a question
   * that went the way of such a connection is asked again over the next.
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

  /** How often the durables of events were handed a message again. They read all of the stream, from its beginning. */
  async redeliveries(): Promise<number> {
    let times = 0;
    for await (const { config, delivered } of this.manager.consumers.list(STREAMS.AGENT_EVENTS.name)) {
      if (config.durable_name !== undefined) times += delivered.consumer_seq - delivered.stream_seq;
    }
    return times;
  }

  /** Counts the messages that whoever had them gave back; the broker hands each out again without waiting. */
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
