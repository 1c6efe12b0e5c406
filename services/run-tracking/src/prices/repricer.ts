import type { COMMANDS } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import type { LoopProgress, Platform, PriceBooks } from '@agentlens/platform';
import type { z } from 'zod';
import { changesOf } from './repriced-calls.ts';
import { Reprices, type RunningReprice } from './reprices.repository.ts';

const LOOK_MS = 1_000;
/** Pause between two pages, so that recording events goes on at its pace. */
const NEXT_PAGE_MS = 5;

interface RepricerDependencies extends Pick<Platform, 'bus' | 'logger'> {
  readonly database: Database;
  readonly prices: Pick<PriceBooks, 'of' | 'ready'>;
  readonly now: () => number;
  readonly progress: LoopProgress;
}

/**
 * Recalculates costs in the background, one page of calls of each job at a time. A page changes calls, totals and the
 * job's position in one transaction, so a crash repeats or loses nothing.
 */
export class Repricer {
  readonly #parts: RepricerDependencies;
  readonly #reprices: Reprices;
  readonly #turning = new Repeating(() => this.turn());

  constructor(parts: RepricerDependencies) {
    this.#parts = parts;
    this.#reprices = new Reprices(parts.database, parts.now);
  }

  start(): void {
    this.#turning.start(0);
  }

  async stop(): Promise<void> {
    await this.#turning.stop();
  }

  async begin(
    question: z.infer<typeof COMMANDS.startReprice.request>,
  ): Promise<z.infer<typeof COMMANDS.startReprice.answer>> {
    return this.#reprices.begin(question);
  }

  /** Reprices one page of each job. Never throws. Replicas take turns. @returns when the next is due, ms */
  async turn(): Promise<number> {
    // Prices that were not read yet would price calls by the table alone.
    if (!this.#parts.prices.ready) return LOOK_MS;
    try {
      const running = await this.#reprices.running();
      if (running.length === 0) this.#parts.progress.succeeded();
      let failed = 0;
      for (const job of running) failed += (await this.#tryPage(job)) ? 0 : 1;
      return running.length > failed ? NEXT_PAGE_MS : LOOK_MS;
    } catch (err) {
      this.#parts.progress.failed();
      this.#parts.logger.warn({ err }, 'repricing failed, will retry');
      return LOOK_MS;
    }
  }

  /** Never throws, so that a job that fails does not delay the others. Returns whether the page was repriced. */
  async #tryPage(job: RunningReprice): Promise<boolean> {
    try {
      await this.#parts.progress.attempt(() => this.#page(job));
      return true;
    } catch (err) {
      this.#parts.logger.warn({ err, tenantId: job.tenantId, repriceId: job.id }, 'repricing failed, will retry');
      return false;
    }
  }

  async #page({ tenantId, id }: RunningReprice): Promise<void> {
    const prices = this.#parts.prices.of(tenantId);
    await this.#reprices.page(tenantId, id, (calls) => changesOf(calls, prices));
  }
}
