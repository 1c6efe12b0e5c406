import type { Unavailable } from '@agentlens/guardrails';

/** Left for putting the answer together and sending it, ms. */
const MARGIN_MS = 5;
const LEAST_MS = 1;

/** How long one question may wait, over all it waits for. */
export class Deadline {
  readonly #endsAtMs: number;
  #expired: Promise<'deadline'> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#endsAtMs = performance.now() + Math.max(LEAST_MS, ms - MARGIN_MS);
  }

  get leftMs(): number {
    return Math.max(0, this.#endsAtMs - performance.now());
  }

  /** What `work` answers, if it does in time. A failure is told to `failed`; its answer is `unavailable`. */
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
