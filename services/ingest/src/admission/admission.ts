import { agentEvents, GROUPS } from '@agentlens/contracts';
import { type ConsumerLag, type EventBus, NO_LAG } from '@agentlens/messaging';
import type { Clock, Platform } from '@agentlens/platform';
import { LoadControl } from './load-control.ts';

const TICK_MS = 250;

/**
 * Couples what comes in to how far evaluation is behind, and holds the loudest tenants back first, before the others
 * notice. Each instance of the gateway does so for its own traffic.
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

  /** Most events per second for one tenant now; Infinity where nobody is held back. */
  get level(): number {
    return this.#control.level;
  }

  start(): void {
    this.#timer = setInterval(() => {
      // An answer that takes longer than this is waited for: two that come out of order would tell of leaps in time.
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

  /** Null where the events may come in; else how long to wait until they may, ms. */
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
      ? 'evaluation is behind: the loudest tenants are held back'
      : 'evaluation has caught up: nobody is held back';
    this.#logger.warn({ ...lag, perTenant }, message);
  }

  /** Unknown is none: where the broker does not say, publishing to it decides. */
  async #lag(): Promise<ConsumerLag> {
    try {
      return await this.#bus.lag(agentEvents, GROUPS.guardrailEvaluator);
    } catch (error) {
      this.#logger.debug({ err: error }, 'how far the evaluator is behind is not known');
      return NO_LAG;
    }
  }
}
