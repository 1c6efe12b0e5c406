import { Fifo } from '@agentlens/messaging';

/** What one tenant may have more than another in a row. */
const QUANTUM = 50;

interface Item<T> {
  readonly weight: number;
  readonly value: T;
}

interface Line<T> {
  readonly items: Fifo<Item<T>>;
  /** Weight the tenant may still take before it is the next one's turn. */
  credit: number;
}

/**
 * Items of many tenants, each tenant's in order, handed out by deficit round robin (Shreedhar and Varghese, 1995): while
 * several wait, each gets the same weight, however much one of them has waiting; one alone gets everything.
 */
export class FairQueue<T> {
  /** Tenants that wait, in the order of their turns. */
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

  /** Items whose weights come to about `most`; at least one where any waits. */
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
