import { STREAMS } from '@agentlens/contracts';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';

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

  async deadLetters(): Promise<number> {
    return (await this.manager.streams.info(STREAMS.DEAD_LETTERS.name)).state.messages;
  }

  /** How often the durables of events were handed a message again. They read all of the stream, from its beginning. */
  async redeliveries(): Promise<number> {
    let times = 0;
    for await (const { config, delivered } of this.manager.consumers.list(STREAMS.AGENT_EVENTS.name)) {
      if (config.durable_name !== undefined) times += delivered.consumer_seq - delivered.stream_seq;
    }
    return times;
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}
