import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { guardrailTriggered } from '@agentlens/contracts';
import { connect } from '@nats-io/transport-node';
import { monotonicMs } from '../harness/monotonic-ms.ts';

/** What the thread that watches is told. */
interface WatchOrder {
  readonly servers: readonly string[];
}

/** What it tells. */
type FromWatch =
  | { readonly kind: 'watching' }
  | { readonly kind: 'seen'; readonly agentId: string; readonly conditionValue: number; readonly atMs: number };

/** Notes when triggers are published, as any subscriber of core NATS sees it; what is published while NATS is away from us is missed. */
export class TriggerWatch {
  private readonly thread: Worker;
  private readonly seenAt = new Map<string, number>();

  private constructor(thread: Worker) {
    this.thread = thread;
    thread.on('message', (message: FromWatch) => {
      if (message.kind === 'watching') return;
      const key = `${labelOf(message.agentId)} ${message.conditionValue}`;
      if (!this.seenAt.has(key)) this.seenAt.set(key, message.atMs);
    });
  }

  static async open(natsUrl: string): Promise<TriggerWatch> {
    const order: WatchOrder = { servers: natsUrl.split(',') };
    const thread = new Worker(new URL('./trigger-watch-thread.ts', import.meta.url), { workerData: order });
    const watch = new TriggerWatch(thread);
    // Once it watches, an error of it is nobody's to handle and ends the run: what it did not see was not measured.
    await once(thread, 'message');
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
    await this.thread.terminate();
  }
}

function labelOf(agentId: string): string {
  return agentId.slice(0, agentId.indexOf('-'));
}

// A thread of its own: the one of the faults also works to see how slow the machine is, receives webhooks and passes on
// what the proxies hold, and what waits for that would be counted as latency of a trigger.

interface Seen {
  readonly agentId: string;
  readonly conditionValue: number;
}

function tell(message: FromWatch): void {
  parentPort?.postMessage(message);
}

const { servers } = workerData as WatchOrder;
const silence = { pingInterval: 1_000, maxPingOut: 2 };
const lasting = { maxReconnectAttempts: -1, reconnectTimeWait: 100 };
const connection = await connect({ servers: [...servers], ...lasting, ...silence });
connection.subscribe(guardrailTriggered.pattern(), {
  callback: (error, message) => {
    if (error !== null) return;
    const atMs = monotonicMs();
    tell({ kind: 'seen', atMs, ...message.json<Seen>() });
  },
});
await connection.flush();
tell({ kind: 'watching' });
