import { type HandlingOutcome, MinIntervalGate, type Received } from '@agentlens/messaging';

/** So many events make a statement worth its beginning, which costs as much as some thirty of them. */
const ENOUGH_EVENTS = 500;
/** One is stored while the next is sent; more would wait for each other's runs and agents. */
const STATEMENTS_AT_ONCE = 2;
/** After a statement of this many events the next keeps to the pace; after fewer it begins sooner, up to eight times. */
const BUSY_EVENTS = 50;
const QUIETEST = 1 / 8;
/** So many calls are no longer few, however few events each brings: who hands them over has an end of them too. */
const ENOUGH_CALLS = 50;

interface GatheringDependencies<T> {
  readonly record: (messages: readonly Received<T>[]) => Promise<readonly HandlingOutcome[]>;
  readonly eventsOf: (message: Received<T>) => number;
  /** Few events wait until so much time has passed since a busy statement began, ms. 0 where somebody waits for them. */
  readonly paceMs: number;
  /** Milliseconds that only go forward. */
  readonly now: () => number;
}

interface Call<T> {
  readonly messages: readonly Received<T>[];
  readonly answer: (outcomes: Promise<readonly HandlingOutcome[]>) => void;
}

/**
 * Stores the messages of several calls together. What arrives after quiet is stored at once. What follows, at a pace: the
 * runs and agents that its events share are then changed once. A statement begins before its time where enough waits for
 * it, also a second one beside a running one.
 */
export class Gathering<T> {
  readonly #parts: GatheringDependencies<T>;
  #waiting: Call<T>[] = [];
  #events = 0;
  #running = 0;
  /** Before it the next statement needs enough events to begin. */
  readonly #next: MinIntervalGate;

  constructor(parts: GatheringDependencies<T>) {
    this.#parts = parts;
    this.#next = new MinIntervalGate(() => this.#go(), parts.now);
  }

  /** One outcome per message, in order. Rejects as `record` does, together with the calls it was gathered with. */
  record(messages: readonly Received<T>[]): Promise<readonly HandlingOutcome[]> {
    return new Promise((answer) => {
      this.#waiting.push({ messages, answer });
      for (const message of messages) this.#events += this.#parts.eventsOf(message);
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
    this.#next.closeFor(this.#parts.paceMs * busy);
    this.#waiting = [];
    this.#events = 0;
    void this.#store(calls);
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
