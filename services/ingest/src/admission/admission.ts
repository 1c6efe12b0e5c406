import { agentEvents, GROUPS } from '@agentlens/contracts';
import { type ConsumerLag, type EventBus, NO_LAG } from '@agentlens/messaging';
import type { Clock, Platform } from '@agentlens/platform';
import { LoadControl } from './load-control.ts';

const TICK_MS = 250;

/**
 * Limits admission by the lag of evaluation. The loudest tenants are throttled first, before the others notice the lag.
 * Each gateway instance does this for its own traffic.
 */
export class Admission {
  readonly #control = new LoadControl();
  readonly #bus: EventBus;
  readonly #clock: Clock;
  readonly #logger: Platform['logger'];
  #timer: NodeJS.Timeout | undefined;
  #ticking: Promise<void> | undefined;

  constructor(bus: EventBus, clock: Clock, logger: Platform['logger']) {
    this.#bus = bus;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Current limit of events per second for one tenant; Infinity if no tenant is throttled. */
  get level(): number {
    return this.#control.level;
  }

  start(): void {
    this.#timer = setInterval(() => {
      // A slow answer is awaited: answers out of order would look like leaps in time.
      this.#ticking ??= this.tick().finally(() => {
        this.#ticking = undefined;
      });
    }, TICK_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#ticking;
  }

  /** Returns null if the events are admitted; otherwise the time to wait, in milliseconds. */
  admit(tenantId: string, events: number): number | null {
    return this.#control.admit(tenantId, events, this.#clock.now());
  }

  async tick(): Promise<void> {
    const before = this.#control.level;
    const askedAtMs = this.#clock.now();
    const lag = await this.#lag();
    this.#control.tick(lag, askedAtMs);
    const perTenant = this.#control.level;
    if (Number.isFinite(perTenant) === Number.isFinite(before)) return;
    const message = Number.isFinite(perTenant)
      ? 'evaluation is behind, throttling the loudest tenants'
      : 'evaluation has caught up, no tenant is throttled';
    this.#logger.warn({ ...lag, perTenant }, message);
  }

  /** An unknown lag counts as no lag. If the broker does not answer, publishing decides. */
  async #lag(): Promise<ConsumerLag> {
    try {
      return await this.#bus.lag(agentEvents, GROUPS.guardrailEvaluator);
    } catch (error) {
      this.#logger.debug({ err: error }, 'cannot read the lag of the evaluator');
      return NO_LAG;
    }
  }
}
