import { type HandlingOutcome, MinIntervalGate, type Received } from '@agentlens/messaging';

/** A statement with this many events starts at once; its fixed cost equals about thirty events. */
const ENOUGH_EVENTS = 500;
/** One is executed while the next is sent. More would wait for locks on the same runs and agents. */
const STATEMENTS_AT_ONCE = 2;
/** After a statement with this many events the next keeps the pace; after fewer it starts up to eight times sooner. */
const BUSY_EVENTS = 50;
const QUIETEST = 1 / 8;
/** This many calls start a statement regardless of their events, because the caller limits concurrent calls. */
const ENOUGH_CALLS = 50;

interface GatheringDependencies<T> {
  readonly record: (messages: readonly Received<T>[]) => Promise<readonly HandlingOutcome[]>;
  readonly eventsOf: (message: Received<T>) => number;
  /** Minimum time between statements under load, ms; 0 if a request waits for them. */
  readonly paceMs: number;
  /** Monotonic clock, ms. */
  readonly now: () => number;
}

interface Call<T> {
  readonly messages: readonly Received<T>[];
  readonly answer: (outcomes: Promise<readonly HandlingOutcome[]>) => void;
}

/**
 * Stores the messages of several calls together. The first message after a pause is stored at once. Under load
 * statements keep a pace, so that shared runs and agents are updated once. A statement starts early, even beside a
 * running one, if enough is waiting.
 */
export class Gathering<T> {
  readonly #dependencies: GatheringDependencies<T>;
  #waiting: Call<T>[] = [];
  #events = 0;
  #running = 0;
  /** Until then the next statement needs enough events to start. */
  readonly #next: MinIntervalGate;

  constructor(dependencies: GatheringDependencies<T>) {
    this.#dependencies = dependencies;
    this.#next = new MinIntervalGate(() => this.#go(), dependencies.now);
  }

  /** Returns one outcome per message, in order. Rejects like `record`, with all calls of the same statement. */
  record(messages: readonly Received<T>[]): Promise<readonly HandlingOutcome[]> {
    return new Promise((answer) => {
      this.#waiting.push({ messages, answer });
      for (const message of messages) this.#events += this.#dependencies.eventsOf(message);
      this.#go();
    });
  }

  #go(): void {
    if (this.#waiting.length === 0) return;
    const enough = this.#events >= ENOUGH_EVENTS || this.#waiting.length >= ENOUGH_CALLS;
    if (this.#running >= (enough ? STATEMENTS_AT_ONCE : 1)) return;
    if (!enough && this.#next.isClosed()) return;
    const calls = this.#waiting;
    const busy = Math.min(1, Math.max(QUIETEST, this.#events / BUSY_EVENTS));
    this.#next.closeFor(this.#dependencies.paceMs * busy);
    this.#waiting = [];
    this.#events = 0;
    void this.#store(calls);
  }

  async #store(calls: readonly Call<T>[]): Promise<void> {
    this.#running += 1;
    const stored = this.#dependencies.record(calls.flatMap(({ messages }) => messages));
    let place = 0;
    for (const { messages, answer } of calls) {
      const from = place;
      place += messages.length;
      answer(stored.then((outcomes) => outcomes.slice(from, from + messages.length)));
    }
    try {
      await stored;
    } catch {
      // each call has received this rejection
    } finally {
      this.#running -= 1;
      this.#go();
    }
  }
}
