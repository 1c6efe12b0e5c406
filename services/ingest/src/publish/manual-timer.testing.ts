import type { CommitTimer } from './group-commit.ts';

/** A timer that a test advances. */
export class ManualTimer implements CommitTimer {
  readonly #due = new Map<() => void, number>();
  #nowMs = 0;

  now(): number {
    return this.#nowMs;
  }

  later(afterMs: number, callback: () => void): () => void {
    this.#due.set(callback, this.#nowMs + afterMs);
    return () => this.#due.delete(callback);
  }

  get waiting(): number {
    return this.#due.size;
  }

  pass(ms: number): void {
    this.#nowMs += ms;
    for (const [callback, atMs] of [...this.#due]) {
      if (atMs > this.#nowMs || !this.#due.delete(callback)) continue;
      callback();
    }
  }
}
