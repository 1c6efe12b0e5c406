import { randomUUID } from 'node:crypto';
import { agentEvents, type BacktestProgress, GROUPS } from '@agentlens/contracts';
import type { EventBus } from '@agentlens/messaging';
import { LoopProgress, type Platform } from '@agentlens/platform';
import type { BacktestsRepository, ClaimedBacktest, FinishedBacktest } from './backtests.repository.ts';
import { NO_PROGRESS } from './backtests.repository.ts';

const POLL_MS = 2_000;
const RENEW_MS = 1_000;
const SWEEP_EVERY = 300;
/** Live evaluation comes first: a backtest pauses while an event waits longer than this. */
const MAX_EVALUATION_LAG_MS = 2_000;

/** What a running job asks its instance. */
export interface JobHooks {
  /** Called after each page. Resolves to false if the job has to end; waits while it is paused. */
  proceed(progress: BacktestProgress): Promise<boolean>;
}

interface JobRunnerDependencies {
  readonly repository: Pick<BacktestsRepository, 'claim' | 'renew' | 'finish' | 'release' | 'dropOld'>;
  readonly bus: Pick<EventBus, 'lag'>;
  readonly logger: Platform['logger'];
  readonly execute: (job: ClaimedBacktest, hooks: JobHooks) => Promise<FinishedBacktest>;
  readonly progress?: LoopProgress;
}

/** Runs queued jobs, one at a time. Any number of instances may run: a lease in Postgres keeps them apart. */
export class JobRunner {
  readonly #parts: JobRunnerDependencies;
  readonly #ownProgress = new LoopProgress();
  #rounds = 0;
  #stopping = false;
  #loop: Promise<void> | undefined;
  #wakeUp: () => void = () => undefined;
  #current: { readonly job: ClaimedBacktest; cancelled: boolean } | undefined;

  constructor(parts: JobRunnerDependencies) {
    this.#parts = parts;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Looks for a job now instead of at the next poll. */
  wake(): void {
    this.#wakeUp();
  }

  cancel(tenantId: string, id: string): void {
    const { job } = this.#current ?? {};
    if (this.#current !== undefined && job?.tenantId === tenantId && job.id === id) this.#current.cancelled = true;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wakeUp();
    await this.#loop;
  }

  /** Runs the next job, if there is one. Returns whether there was. */
  async runNext(): Promise<boolean> {
    const { repository, execute, logger } = this.#parts;
    const job = await repository.claim(randomUUID());
    if (job === null) return false;
    this.#current = { job, cancelled: false };
    try {
      const done = await execute(job, { proceed: this.#proceedOf(job) });
      if (this.#stopping) await repository.release(job);
      else await repository.finish(job, done);
    } catch (err) {
      logger.warn({ err, tenantId: job.tenantId, backtestId: job.id }, 'a backtest failed');
      const error = err instanceof Error ? err.message : String(err);
      await repository.finish(job, { status: 'failed', progress: NO_PROGRESS, error: error.slice(0, 500) });
    } finally {
      this.#current = undefined;
    }
    return true;
  }

  #proceedOf(job: ClaimedBacktest): JobHooks['proceed'] {
    let renewedAtMs = Number.NEGATIVE_INFINITY;
    let goesOn = true;
    return async (progress) => {
      if (this.#stopping || this.#current?.cancelled === true) return false;
      if (performance.now() - renewedAtMs < RENEW_MS) return goesOn;
      do {
        goesOn = (await this.#parts.repository.renew(job, progress)) === 'go on';
        renewedAtMs = performance.now();
      } while (goesOn && !this.#stopping && (await this.#isBusy()));
      return goesOn && !this.#stopping;
    };
  }

  /** Waits for a moment if evaluators lag. */
  async #isBusy(): Promise<boolean> {
    const { oldestAgeMs, pending } = await this.#parts.bus.lag(agentEvents, GROUPS.guardrailEvaluator);
    if (pending === 0 || oldestAgeMs <= MAX_EVALUATION_LAG_MS) return false;
    await new Promise((resolve) => setTimeout(resolve, RENEW_MS));
    return true;
  }

  async #run(): Promise<void> {
    while (!this.#stopping) if (!(await this.#round())) await this.#rest();
  }

  #rest(): Promise<void> {
    if (this.#stopping) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, POLL_MS);
      this.#wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Returns whether there was a job. */
  async #round(): Promise<boolean> {
    const { progress = this.#ownProgress } = this.#parts;
    try {
      if (this.#rounds++ % SWEEP_EVERY === 0) await this.#parts.repository.dropOld();
      const found = await this.runNext();
      progress.succeeded();
      return found;
    } catch (err) {
      progress.failed();
      this.#parts.logger.warn({ err }, 'looking for backtests failed, will retry');
      return false;
    }
  }
}
