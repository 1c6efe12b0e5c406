import type { Unavailable } from '@agentlens/guardrails';
import type { Platform } from '@agentlens/platform';
import { StateUnavailable } from '@agentlens/state';

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

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

/** Consecutive failures after which the store counts as unavailable. */
const MAX_FAILURES = 3;
/** A healthy store answers in a fraction of this. A timeout shorter than this says nothing about the store. */
const SLOW_MS = 100;
const PROBE_MS = 100;

interface StateCircuitDependencies {
  /** The cheapest request to the store. */
  readonly probe: () => Promise<unknown>;
  readonly logger: Platform['logger'];
  readonly probeMs?: number;
}

/**
 * Circuit breaker in front of the state store: keeps questions from each waiting for their own deadline while the store
 * is unavailable. After a few failures every question gets `unavailable` at once, and one probe at a time checks the
 * store. When a probe is answered, questions reach the store again.
 */
export class StateCircuit {
  readonly #parts: StateCircuitDependencies;
  #failures = 0;
  #away = false;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(parts: StateCircuitDependencies) {
    this.#parts = parts;
  }

  /** True while the circuit is open. */
  get away(): boolean {
    return this.#away;
  }

  /** Resolves to the store's answer if it arrives in time. `work` is not started while the circuit is open. */
  async ask<T extends object | null>(
    deadline: Deadline,
    work: () => Promise<T>,
    failed: (error: unknown) => void,
  ): Promise<T | Unavailable> {
    if (this.#away) return 'unavailable';
    const askedAtMs = performance.now();
    let error: unknown;
    const answer = await deadline.within(work(), (thrown) => {
      error = thrown;
      failed(thrown);
    });
    if (error instanceof StateUnavailable) this.#fail(error);
    else if (answer === 'deadline') this.#late(performance.now() - askedAtMs);
    else this.#failures = 0;
    return answer;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #late(waitedMs: number): void {
    if (waitedMs >= SLOW_MS) this.#fail(new Error(`no answer within ${Math.round(waitedMs)} ms`));
  }

  #fail(error: unknown): void {
    this.#failures += 1;
    if (this.#away || this.#stopped || this.#failures < MAX_FAILURES) return;
    this.#away = true;
    this.#parts.logger.warn({ err: error }, 'state store unavailable; decisions continue without it');
    void this.#probe();
  }

  async #probe(): Promise<void> {
    try {
      await this.#parts.probe();
    } catch {
      if (this.#stopped) return;
      this.#timer = setTimeout(() => void this.#probe(), this.#parts.probeMs ?? PROBE_MS).unref();
      return;
    }
    this.#away = false;
    this.#failures = 0;
    this.#parts.logger.info('state store is available again');
  }
}
