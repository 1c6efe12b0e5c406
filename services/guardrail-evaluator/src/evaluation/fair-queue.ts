import { Fifo } from '@agentlens/messaging';

/** Weight a tenant gets per turn. */
const QUANTUM = 50;

interface Item<T> {
  readonly weight: number;
  readonly value: T;
}

interface Line<T> {
  readonly items: Fifo<Item<T>>;
  /** Weight the tenant may still take in this turn. */
  credit: number;
}

/**
 * Queue with deficit round robin over tenants (Shreedhar and Varghese, 1995). Keeps each tenant's items in order.
 * Waiting tenants get the same weight, however much each has queued; a single tenant gets the full capacity.
 */
export class FairQueue<T> {
  /** Waiting tenants, in the order of their turns. */
  readonly #lines = new Map<string, Line<T>>();

  add(tenantId: string, weight: number, value: T): void {
    let line = this.#lines.get(tenantId);
    if (line === undefined) {
      line = { items: new Fifo(), credit: 0 };
      this.#lines.set(tenantId, line);
    }
    line.items.push({ weight, value });
  }

  get empty(): boolean {
    return this.#lines.size === 0;
  }

  /** Takes items with a total weight of about `most`; at least one if any is waiting. */
  take(most: number): T[] {
    const taken: T[] = [];
    for (let left = most; left > 0; ) {
      const turn = this.#lines.entries().next().value;
      if (turn === undefined) break;
      const [tenantId, line] = turn;
      this.#lines.delete(tenantId);
      line.credit += QUANTUM;
      for (
        let item = line.items.first;
        item !== undefined && item.weight <= line.credit && left > 0;
        item = line.items.first
      ) {
        line.items.shift();
        line.credit -= item.weight;
        left -= item.weight;
        taken.push(item.value);
      }
      if (line.items.length > 0) this.#lines.set(tenantId, line);
    }
    return taken;
  }
}
