import type { AgentEvent, Lagged } from '../core/agent-event.ts';
import type { EventLog } from './event-log.ts';

export interface SubscribeOptions {
  /** Where to start: with the oldest kept event, the next one (default), or this number. */
  readonly from?: 'start' | 'now' | number;
  readonly only?: readonly AgentEvent['type'][];
  readonly signal?: AbortSignal;
}

/** A reader of a session's events with its own position. Ends with the session, `return` or the signal. */
export class Subscription implements AsyncIterableIterator<AgentEvent | Lagged>, AsyncDisposable {
  readonly #log: EventLog;
  readonly #only: ReadonlySet<string> | null;
  readonly #signal: AbortSignal | undefined;
  #wake: () => void = () => undefined;
  #next: number;
  #ended = false;

  constructor(log: EventLog, { from = 'now', only, signal }: SubscribeOptions = {}) {
    this.#log = log;
    this.#only = only === undefined ? null : new Set(only);
    this.#signal = signal;
    this.#next = from === 'now' ? log.lastSeq + 1 : from === 'start' ? 1 : Math.max(1, from);
    if (from === 'start') this.#next = log.firstSeq;
    if (signal?.aborted === true) this.#stop();
    else signal?.addEventListener('abort', this.#stop, { once: true });
  }

  /** The number of the last event read. */
  get cursor(): number {
    return this.#next - 1;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<AgentEvent | Lagged>> {
    while (!this.#ended) {
      const lag = this.#lag();
      if (lag !== null) return { done: false, value: lag };
      const event = this.#log.at(this.#next);
      if (event !== undefined) {
        this.#next += 1;
        if (this.#only === null || this.#only.has(event.type)) return { done: false, value: event };
        continue;
      }
      if (this.#log.isClosed) this.#stop();
      else await this.#changed();
    }
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<AgentEvent | Lagged>> {
    this.#stop();
    return { done: true, value: undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
  }

  /** Resolves when there may be something to read or the reader was stopped. */
  #changed(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#log.onceChanged(resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }

  #lag(): Lagged | null {
    const first = this.#log.firstSeq;
    if (this.#next >= first) return null;
    const missed = first - this.#next;
    this.#next = first;
    return { type: 'lagged', missed, resumedAt: first };
  }

  readonly #stop = (): void => {
    this.#ended = true;
    this.#signal?.removeEventListener('abort', this.#stop);
    this.#wake();
  };
}
