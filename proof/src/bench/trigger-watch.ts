import { guardrailTriggered } from '@agentlens/contracts';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { LoadReport } from '../harness/generate-load.ts';
import { Latencies } from '../harness/statistics.ts';
import { monotonicMs, until } from '../harness/time.ts';
import type { Aftermath } from './measure-load.ts';

const DEADLINE_MS = 30_000;

/** Subscribes to marker triggers on NATS and records their times. */
export class TriggerLatencyWatch {
  private readonly connection: NatsConnection;
  private readonly seenAt = new Map<number, number>();
  private repeated = 0;

  private constructor(connection: NatsConnection) {
    this.connection = connection;
    connection.subscribe(guardrailTriggered.pattern(), {
      callback: (error, message) => {
        if (error === null) this.note(message.json<{ readonly conditionValue: number }>().conditionValue - 1);
      },
    });
  }

  static async open(natsUrl: string): Promise<TriggerLatencyWatch> {
    const connection = await connect({ servers: natsUrl });
    const watch = new TriggerLatencyWatch(connection);
    await connection.flush();
    return watch;
  }

  forget(): void {
    this.seenAt.clear();
    this.repeated = 0;
  }

  /** Waits for the trigger of every accepted marker and times it from when its request was sent. */
  async compare({ markers }: LoadReport): Promise<Aftermath> {
    const sent = Object.entries(markers).map(([serial, at]) => ({ serial: Number(serial), at }));
    const missing = () => sent.some(({ serial }) => !this.seenAt.has(serial));
    await until('triggers on NATS', async () => (missing() ? undefined : true), DEADLINE_MS);
    const latencies = new Latencies();
    for (const { serial, at } of sent) latencies.record(((this.seenAt.get(serial) ?? at) - at) * 1000);
    return {
      latency: { trigger: latencies.summary() },
      checks: [{ name: 'triggers on NATS', expected: sent.length, actual: this.seenAt.size + this.repeated }],
    };
  }

  async close(): Promise<void> {
    await this.connection.close();
  }

  private note(marker: number): void {
    const now = monotonicMs();
    if (this.seenAt.has(marker)) this.repeated += 1;
    else this.seenAt.set(marker, now);
  }
}
