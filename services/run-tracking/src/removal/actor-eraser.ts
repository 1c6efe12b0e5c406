import { COMMANDS } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import { LoopProgress, type Platform } from '@agentlens/platform';
import type { z } from 'zod';
import { Erasures, type RunningErasure } from './erasures.repository.ts';

const LOOK_MS = 15_000;
/** Pause between two groups of runs, so that a long erasure does not keep the disk busy. */
const NEXT_GROUP_MS = 200;
const RUNS_PER_QUESTION = 500;

interface ActorEraserDependencies extends Pick<Platform, 'bus' | 'logger' | 'runContexts'> {
  readonly database: Database;
  readonly progress?: LoopProgress;
}

/** Erases the contents of an actor's runs in the background: one group of runs at a time, the dispatcher's part first. */
export class ActorEraser {
  readonly #dependencies: ActorEraserDependencies;
  readonly #erasures: Erasures;
  readonly #progress: LoopProgress;
  readonly #turning = new Repeating(() => this.turn());

  constructor(dependencies: ActorEraserDependencies) {
    this.#dependencies = dependencies;
    this.#progress = dependencies.progress ?? new LoopProgress();
    this.#erasures = new Erasures(dependencies.database);
  }

  start(): void {
    this.#turning.start(0);
  }

  async stop(): Promise<void> {
    await this.#turning.stop();
  }

  async begin(
    question: z.infer<typeof COMMANDS.eraseActor.request>,
  ): Promise<z.infer<typeof COMMANDS.eraseActor.answer>> {
    const row = await this.#erasures.begin(question);
    return { ok: true, value: { id: row.erasure_id, requestedAt: row.requested_at } };
  }

  /** Erases one group of each erasure. Never throws. Replicas may do so at the same time. @returns when the next is due, ms */
  async turn(): Promise<number> {
    try {
      const running = await this.#erasures.running();
      if (running.length === 0) this.#progress.succeeded();
      let failed = 0;
      for (const erasure of running) failed += (await this.#tryGroup(erasure)) ? 0 : 1;
      return running.length > failed ? NEXT_GROUP_MS : LOOK_MS;
    } catch (err) {
      this.#progress.failed();
      this.#dependencies.logger.warn({ err }, 'erasing the contents of an actor failed, will retry');
      return LOOK_MS;
    }
  }

  /** Never throws, so that an erasure that fails does not delay the others. Returns whether the group was erased. */
  async #tryGroup(erasure: RunningErasure): Promise<boolean> {
    try {
      await this.#progress.attempt(() => this.#eraseGroup(erasure));
      return true;
    } catch (err) {
      const { tenantId } = erasure;
      this.#dependencies.logger.warn({ err, tenantId }, 'erasing the contents of an actor failed, will retry');
      return false;
    }
  }

  /** Removes the actor from the runs last, so that an erasure that failed finds them again. */
  async #eraseGroup(erasure: RunningErasure): Promise<void> {
    const { tenantId } = erasure;
    const runIds = await this.#erasures.runsOf(erasure);
    if (runIds.length === 0) return this.#erasures.finish(erasure);
    for (let from = 0; from < runIds.length; from += RUNS_PER_QUESTION) {
      const some = runIds.slice(from, from + RUNS_PER_QUESTION);
      const answer = await this.#dependencies.bus.request(COMMANDS.eraseRunActions, { tenantId, runIds: some });
      if (!answer.ok) throw new Error(answer.problem.error);
    }
    while (await this.#erasures.eraseSome(erasure, runIds));
    await this.#dependencies.runContexts.forgetActor(tenantId, runIds);
    await this.#erasures.forget(erasure, runIds);
  }
}
