import type { Unavailable } from '@agentlens/guardrails';

/** Time reserved for building and sending the answer, in milliseconds. */
const MARGIN_MS = 5;
const MIN_MS = 1;

/** The time budget of one question, shared by everything it waits for. */
export class Deadline {
  readonly #endsAtMs: number;
  #expired: Promise<'deadline'> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#endsAtMs = performance.now() + Math.max(MIN_MS, ms - MARGIN_MS);
  }

  get leftMs(): number {
    return Math.max(0, this.#endsAtMs - performance.now());
  }

  /**
   * Resolves to the result of `work` if it arrives in time. An error is passed to `failed` and resolves to
   * `unavailable`.
   */
  async within<T extends object | null>(work: Promise<T>, failed: (error: unknown) => void): Promise<T | Unavailable> {
    this.#expired ??= new Promise((resolve) => {
      this.#timer = setTimeout(resolve, this.leftMs, 'deadline');
    });
    try {
      return await Promise.race([work, this.#expired]);
    } catch (error) {
      failed(error);
      return 'unavailable';
    }
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
