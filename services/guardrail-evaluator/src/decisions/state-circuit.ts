import type { Unavailable } from '@agentlens/guardrails';
import type { Platform } from '@agentlens/platform';
import { StateUnavailable } from '@agentlens/state';
import type { Deadline } from './deadline.ts';

/** So many in a row, and none that was answered among them, mean that the store is away. */
const MOST_FAILURES = 3;
/** A store that answers takes a fraction of this. A question that has less time than that says nothing of the store. */
const SLOW_MS = 100;
const PROBE_MS = 100;

interface StateCircuitDependencies {
  /** The cheapest question to the store. */
  readonly probe: () => Promise<unknown>;
  readonly logger: Platform['logger'];
  readonly probeMs?: number;
}

/**
 * Keeps questions from each waiting out its own deadline while the state store is away. After a few failures nobody asks
 * any more, except one probe at a time, and every question is answered `unavailable` at once; when the probe is answered
 * everybody asks again.
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

  /** True while nobody asks. */
  get away(): boolean {
    return this.#away;
  }

  /** What the store answers, if it does in time; `work` is not begun while the store is known to be away. */
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
    if (this.#away || this.#stopped || this.#failures < MOST_FAILURES) return;
    this.#away = true;
    this.#parts.logger.warn({ err: error }, 'the state store is away: decisions do without it until it answers');
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
    this.#parts.logger.info('the state store answers again');
  }
}
