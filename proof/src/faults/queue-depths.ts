/** A queue inside a process, as `/metrics` shows it. */
export interface QueueDepth {
  readonly queue: string;
  readonly size: number;
  readonly capacity: number;
}

const SAMPLE = /^agentlens_queue_(size|capacity)\{(?:.*,)?queue="([^"]*)".*\} (\S+)/gm;

/** The queues in one answer in the Prometheus text format. */
export function queuesIn(text: string): QueueDepth[] {
  const found = { size: new Map<string, number>(), capacity: new Map<string, number>() };
  for (const [, what, queue = '', value] of text.matchAll(SAMPLE)) {
    found[what === 'size' ? 'size' : 'capacity'].set(queue, Number(value));
  }
  return [...found.capacity].map(([queue, capacity]) => ({ queue, capacity, size: found.size.get(queue) ?? 0 }));
}

/** The greatest depth that was seen of each queue. */
export class GreatestDepths {
  readonly #depths = new Map<string, QueueDepth>();

  /** @param of whose queues they are */
  note(of: string, depths: readonly QueueDepth[]): void {
    for (const depth of depths) {
      const queue = `${of}: ${depth.queue}`;
      if (depth.size >= (this.#depths.get(queue)?.size ?? 0)) this.#depths.set(queue, { ...depth, queue });
    }
  }

  get all(): readonly QueueDepth[] {
    return [...this.#depths.values()];
  }
}
