import type { RuntimeClock } from '../runtime/runtime.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Clock that stands still until it is advanced; due timers then run in order. */
export class TestClock implements RuntimeClock {
  #now: number;
  #elapsed = 0;
  #order = 0;
  #timers: Timer[] = [];

  constructor(iso = '2026-03-01T12:00:00.000Z') {
    this.#now = Date.parse(iso);
  }

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  timer(run: () => void, ms: number): () => void {
    const timer = { at: this.#elapsed + Math.max(0, ms), order: this.#order++, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Moves only the wall clock, as if the machine's clock were set. */
  set(iso: string): void {
    this.#now = Date.parse(iso);
  }

  /** Moves time forward. Work started by a timer continues as far as it can without more time. */
  async advance(ms: number): Promise<void> {
    const until = this.#elapsed + ms;
    await settle();
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.#now += next.at - this.#elapsed;
      this.#elapsed = next.at;
      this.#timers = this.#timers.filter((other) => other !== next);
      next.run();
      await settle();
    }
    this.#now += until - this.#elapsed;
    this.#elapsed = until;
  }

  #next(until: number): Timer | undefined {
    const due = this.#timers.filter(({ at }) => at <= until);
    return due.sort((a, b) => a.at - b.at || a.order - b.order)[0];
  }
}

/** Lets all pending asynchronous work continue. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  await new Promise<void>((resolve) => setTimeout(resolve, 0));
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

/** Sequential ids in UUIDv7 form: the same test gets the same ids. */
export function testIds(): (nowMs: number) => string {
  let count = 0;
  return () => `00000000-0000-7000-8000-${(++count).toString(16).padStart(12, '0')}`;
}
