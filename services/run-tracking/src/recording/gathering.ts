import type { Outcome, Received } from '@agentlens/messaging';

/** So many events make a statement worth its beginning, which costs as much as some thirty of them. */
const ENOUGH_EVENTS = 500;
/** One is stored while the next is sent; more would wait for each other's runs and agents. */
const STATEMENTS_AT_ONCE = 2;

export interface GatheringParts<T> {
  readonly record: (messages: readonly Received<T>[]) => Promise<readonly Outcome[]>;
  readonly eventsOf: (message: Received<T>) => number;
  /** How long few events wait for more to be stored together with, ms. 0 where somebody waits for them to be stored. */
  readonly lingerMs: number;
}

interface Call<T> {
  readonly messages: readonly Received<T>[];
  readonly answer: (outcomes: Promise<readonly Outcome[]>) => void;
}

/**
 * Stores the messages of several calls together. What waits while a statement runs, or arrives soon after, goes into the
 * next one; a second statement begins beside a running one only where enough waits for it.
 */
export class Gathering<T> {
  readonly #parts: GatheringParts<T>;
  #waiting: Call<T>[] = [];
  #events = 0;
  #running = 0;
  #lingered = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: GatheringParts<T>) {
    this.#parts = parts;
  }

  /** One outcome per message, in order. Rejects as `record` does, together with the calls it was gathered with. */
  record(messages: readonly Received<T>[]): Promise<readonly Outcome[]> {
    return new Promise((answer) => {
      this.#waiting.push({ messages, answer });
      for (const message of messages) this.#events += this.#parts.eventsOf(message);
      this.#go();
    });
  }

  #go(): void {
    if (this.#waiting.length === 0) return;
    if (!this.#mayStart()) {
      this.#linger();
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const calls = this.#waiting;
    this.#waiting = [];
    this.#events = 0;
    this.#lingered = false;
    void this.#store(calls);
  }

  #mayStart(): boolean {
    if (this.#events >= ENOUGH_EVENTS) return this.#running < STATEMENTS_AT_ONCE;
    return this.#running === 0 && (this.#lingered || this.#parts.lingerMs === 0);
  }

  #linger(): void {
    if (this.#lingered || this.#parts.lingerMs === 0) return;
    this.#timer ??= setTimeout(() => {
      this.#lingered = true;
      this.#go();
    }, this.#parts.lingerMs);
  }

  async #store(calls: readonly Call<T>[]): Promise<void> {
    this.#running += 1;
    const stored = this.#parts.record(calls.flatMap(({ messages }) => messages));
    let place = 0;
    for (const { messages, answer } of calls) {
      const from = place;
      place += messages.length;
      answer(stored.then((outcomes) => outcomes.slice(from, from + messages.length)));
    }
    try {
      await stored;
    } catch {
      // Told to the calls, each of which has this rejection.
    } finally {
      this.#running -= 1;
      this.#go();
    }
  }
}
