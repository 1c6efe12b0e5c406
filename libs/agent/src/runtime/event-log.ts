import type { AgentEvent } from '../core/agent-event.ts';

/**
 * Events of one session, in order, stored once. Keeps the newest `capacity` events; each reader only holds a cursor.
 */
export class EventLog {
  readonly #capacity: number;
  readonly #events: (AgentEvent | undefined)[] = [];
  #lastSeq = 0;
  #closed = false;
  #waiting = new Set<() => void>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** The oldest kept event; one more than the newest if the log is empty. */
  get firstSeq(): number {
    return Math.max(1, this.#lastSeq - this.#capacity + 1);
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** `make` receives the event's number. */
  append(make: (seq: number) => AgentEvent): AgentEvent {
    const event = make(this.#lastSeq + 1);
    this.#lastSeq += 1;
    this.#events[(this.#lastSeq - 1) % this.#capacity] = event;
    this.#wake();
    return event;
  }

  at(seq: number): AgentEvent | undefined {
    if (seq < this.firstSeq || seq > this.#lastSeq) return undefined;
    return this.#events[(seq - 1) % this.#capacity];
  }

  /** Number of readers waiting for an event. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Calls once, at the next event or the end. Returns a function that cancels it. */
  onceChanged(call: () => void): () => void {
    if (this.#closed) call();
    else this.#waiting.add(call);
    return () => this.#waiting.delete(call);
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  #wake(): void {
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }
}
