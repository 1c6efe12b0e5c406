import { randomBytes } from 'node:crypto';
import type { Database } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import { LoopProgress, type Platform } from '@agentlens/platform';
import { metrics } from '@opentelemetry/api';
import { type LogState, type Sealing, SealingFailed, SealingStore } from './sealing-store.ts';
import { openSigningKey } from './signing-key.ts';

const ROUND_MS = 500;
const RETRY_MS = 5_000;
/** Batches of one round. What is left waits for the next, so that stopping does not take long. */
const BATCHES_AT_ONCE = 20;

interface SealerDependencies extends Pick<Platform, 'clock' | 'logger' | 'secrets'> {
  readonly database: Database;
  readonly progress?: LoopProgress;
}

/** Origins start with this name and end with the random id of the log. */
const INSTALLATION = 'agentlens';

/** Seals pending entries into the provable logs, after the fact: nothing waits for it. */
export class Sealer {
  readonly #dependencies: SealerDependencies;
  readonly #progress: LoopProgress;
  readonly #sealing = new Repeating(() => this.seal());
  readonly #sealed;
  #store: SealingStore | undefined;
  #lagMs = 0;
  #broken = 0;

  constructor(dependencies: SealerDependencies) {
    this.#dependencies = dependencies;
    this.#progress = dependencies.progress ?? new LoopProgress();
    const meter = metrics.getMeter('@agentlens/run-tracking');
    this.#sealed = meter.createCounter('agentlens.log.sealed', { description: 'Entries appended to provable logs' });
    meter
      .createObservableGauge('agentlens.log.lag', {
        description: 'Age of the oldest fact that is not in its provable log',
        unit: 'ms',
      })
      .addCallback((result) => result.observe(this.#lagMs));
    meter
      .createObservableGauge('agentlens.log.broken', {
        description: 'Provable logs that do not grow, because they no longer agree with what was signed',
      })
      .addCallback((result) => result.observe(this.#broken));
  }

  start(): void {
    this.#sealing.start(0);
  }

  stop(): Promise<void> {
    return this.#sealing.stop();
  }

  /** Seals what is pending. Replicas may do so at the same time. Never throws. @returns when the next round is due, ms */
  async seal(): Promise<number> {
    const { logger } = this.#dependencies;
    try {
      const store = await this.#open();
      const standing = await store.look();
      this.#note(standing);
      this.#progress.succeeded();
      if (!standing.hasWork) return ROUND_MS;
      await store.openLogs();
      for (let batches = 0; batches < BATCHES_AT_ONCE; batches++) {
        const sealing = await this.#sealSome(store);
        if (sealing?.result === 'idle') break;
        if (sealing?.result === 'sealed') this.#sealed.add(sealing.entries);
        if (sealing?.result === 'broken') {
          const { tenantId, reason } = sealing;
          logger.error({ tenantId, reason }, 'a provable log is broken and does not grow');
        }
      }
      this.#note(await store.look());
      return ROUND_MS;
    } catch (err) {
      this.#progress.failed();
      logger.warn({ err }, 'sealing the provable log failed, will retry');
      return RETRY_MS;
    }
  }

  /** Returns undefined if one log could not be sealed: the others must not wait for it. @throws database errors */
  async #sealSome(store: SealingStore): Promise<Sealing | undefined> {
    const { clock, logger } = this.#dependencies;
    try {
      return await store.sealSome(clock.now());
    } catch (error) {
      if (!(error instanceof SealingFailed)) throw error;
      logger.warn({ err: error.cause, tenantId: error.tenantId }, 'sealing a provable log failed, will retry');
      return undefined;
    }
  }

  async #open(): Promise<SealingStore> {
    const { database, secrets } = this.#dependencies;
    this.#store ??= new SealingStore({
      database,
      signer: await openSigningKey(database, secrets),
      origin: INSTALLATION,
      instance: randomBytes(6).toString('hex'),
    });
    return this.#store;
  }

  #note({ lagMs, broken }: LogState): void {
    this.#lagMs = lagMs;
    this.#broken = broken;
  }
}
