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
