/** How events are queued and sent. */
export interface SinkOptions {
  /** Maximum number of waiting events; the oldest are dropped. */
  readonly maxQueue: number;
  readonly batchSize: number;
  readonly flushMs: number;
  /** Attempts per batch before it is counted as dropped. */
  readonly attempts: number;
  readonly backoffBaseMs: number;
  readonly backoffMostMs: number;
  /** Timeout of one attempt, in ms. */
  readonly sendTimeoutMs: number;
  /** Maximum number of batches in flight. */
  readonly maxInFlight: number;
}

export const SINK_DEFAULTS: SinkOptions = {
  maxQueue: 2_000,
  batchSize: 50,
  flushMs: 1_000,
  attempts: 8,
  backoffBaseMs: 500,
  backoffMostMs: 10_000,
  sendTimeoutMs: 5_000,
  maxInFlight: 2,
};

/** Bounded FIFO queue that drops its oldest entry when full. A ring buffer: adding allocates nothing. */
export class EventQueue<T> {
  readonly #slots: (T | undefined)[];
  #head = 0;
  #size = 0;
  #dropped = 0;

  constructor(capacity: number) {
    this.#slots = Array.from<T | undefined>({ length: capacity });
  }

  get size(): number {
    return this.#size;
  }

  /** Total number of dropped entries. */
  get dropped(): number {
    return this.#dropped;
  }

  add(entry: T): void {
    const slots = this.#slots;
    if (this.#size === slots.length) {
      slots[this.#head] = entry;
      this.#head = this.#head + 1 === slots.length ? 0 : this.#head + 1;
      this.#dropped++;
      return;
    }
    const at = this.#head + this.#size;
    slots[at < slots.length ? at : at - slots.length] = entry;
    this.#size++;
  }

  peek(): T | undefined {
    return this.#slots[this.#head];
  }

  take(): T | undefined {
    if (this.#size === 0) return undefined;
    const entry = this.#slots[this.#head];
    this.#slots[this.#head] = undefined;
    this.#head = this.#head + 1 === this.#slots.length ? 0 : this.#head + 1;
    this.#size--;
    return entry;
  }
}
