import type { RuntimeClock } from '../runtime/runtime.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that stands still until it is advanced; then the timers that fall due run, in order. */
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

  /** Moves the wall clock alone, as a machine whose clock is set does. */
  set(iso: string): void {
    this.#now = Date.parse(iso);
  }

  /** Lets time pass. What a timer begins is carried on as far as it gets without more time. */
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

/** Lets everything go on that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  await new Promise<void>((resolve) => setTimeout(resolve, 0));
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

/** Ids in the form of time-ordered UUIDs that count up: the same test, the same ids. */
export function testIds(): (nowMs: number) => string {
  let count = 0;
  return () => `00000000-0000-7000-8000-${(++count).toString(16).padStart(12, '0')}`;
}
