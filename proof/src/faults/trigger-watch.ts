import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Orders for the watching thread. */
export interface WatchOrder {
  readonly servers: readonly string[];
}

/** Messages from it. */
export type FromWatch =
  | { readonly kind: 'watching' }
  | { readonly kind: 'seen'; readonly agentId: string; readonly conditionValue: number; readonly atMs: number };

/**
 * Records when triggers are published, like a subscriber of core NATS. Misses what is published while NATS is
 * unreachable.
 */
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
    // From here on an error in the thread is unhandled and ends the run, because triggers may have been missed.
    await once(thread, 'message');
    return watch;
  }

  /** Milliseconds from sending to trigger, of each marker that was observed. */
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
