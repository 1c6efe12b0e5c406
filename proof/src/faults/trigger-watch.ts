import { guardrailTriggered } from '@agentlens/contracts';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { monotonicMs } from '../harness/monotonic-ms.ts';

interface Seen {
  readonly agentId: string;
  readonly conditionValue: number;
}

/** Notes when triggers are published, as any subscriber of core NATS sees it; what is published while NATS is away from us is missed. */
export class TriggerWatch {
  private readonly connection: NatsConnection;
  private readonly seenAt = new Map<string, number>();

  private constructor(connection: NatsConnection) {
    this.connection = connection;
    connection.subscribe(guardrailTriggered.pattern(), {
      callback: (error, message) => {
        if (error !== null) return;
        const { agentId, conditionValue } = message.json<Seen>();
        const key = `${labelOf(agentId)} ${conditionValue}`;
        if (!this.seenAt.has(key)) this.seenAt.set(key, monotonicMs());
      },
    });
  }

  static async open(natsUrl: string): Promise<TriggerWatch> {
    const silence = { pingInterval: 1_000, maxPingOut: 2 };
    const lasting = { maxReconnectAttempts: -1, reconnectTimeWait: 100 };
    const connection = await connect({ servers: natsUrl.split(','), ...lasting, ...silence });
    const watch = new TriggerWatch(connection);
    await connection.flush();
    return watch;
  }

  /** Milliseconds from sending to trigger, of each marker that was seen. */
  latencies(label: string, markers: Readonly<Record<string, number>>): readonly number[] {
    return Object.entries(markers).flatMap(([serial, sentAt]) => {
      const at = this.seenAt.get(`${label} ${Number(serial) + 1}`);
      return at === undefined ? [] : [at - sentAt];
    });
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}

function labelOf(agentId: string): string {
  return agentId.slice(0, agentId.indexOf('-'));
}
