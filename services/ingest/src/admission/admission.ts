import { agentEvents, GROUPS } from '@agentlens/contracts';
import type { EventBus } from '@agentlens/messaging';
import type { Clock, Platform } from '@agentlens/platform';
import { FairShare } from './fair-share.ts';
import { Overload } from './overload.ts';

const TICK_MS = 250;

/**
 * Couples what comes in to how far evaluation is behind, and holds the loudest tenants back first, before the others
 * notice. Each instance of the gateway does so for its own traffic.
 */
export class Admission {
  readonly #shares = new FairShare();
  readonly #overload = new Overload();
  readonly #bus: EventBus;
  readonly #clock: Clock;
  readonly #logger: Platform['logger'];
  #timer: NodeJS.Timeout | undefined;
  #tickedAtMs: number;
  #ticking: Promise<void> = Promise.resolve();

  constructor(bus: EventBus, clock: Clock, logger: Platform['logger']) {
    this.#bus = bus;
    this.#clock = clock;
    this.#logger = logger;
    this.#tickedAtMs = clock.now();
  }

  /** Most events per second for one tenant now; Infinity where nobody is held back. */
  get level(): number {
    return this.#shares.level;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#ticking = this.tick();
    }, TICK_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#ticking;
  }

  /** Null where the events may come in; else how long to wait until they may, ms. */
  admit(tenantId: string, events: number): number | null {
    return this.#shares.admit(tenantId, events, this.#clock.now());
  }

  async tick(): Promise<void> {
    const before = this.#shares.level;
    const behindMs = await this.#behindMs();
    const nowMs = this.#clock.now();
    this.#shares.tick(this.#overload.read(behindMs, nowMs), nowMs - this.#tickedAtMs, nowMs);
    this.#tickedAtMs = nowMs;
    if (Number.isFinite(this.#shares.level) !== Number.isFinite(before)) {
      const holding = Number.isFinite(this.#shares.level);
      this.#logger.warn(
        { behindMs, perTenant: this.#shares.level },
        holding
          ? 'evaluation is behind: holding the loudest tenants back'
          : 'evaluation has caught up: holding nobody back',
      );
    }
  }

  /** Unknown lag is no lag: where the broker does not say, publishing to it decides. */
  async #behindMs(): Promise<number> {
    try {
      return (await this.#bus.lag(agentEvents, GROUPS.guardrailEvaluator)).oldestAgeMs;
    } catch (error) {
      this.#logger.debug({ err: error }, 'the lag of the evaluator is not known');
      return 0;
    }
  }
}
