import { COMMANDS } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import { LoopProgress, type Platform } from '@agentlens/platform';
import type { z } from 'zod';
import { type DeletedRun, DeletedRuns, type RunDeletion } from './deleted-runs.repository.ts';

const LOOK_MS = 15_000;
const NEXT_ROUND_MS = 200;
const RUNS_AT_ONCE = 20;
/** Batches per request: the caller waits for them. */
const BATCHES_AT_ONCE = 5;

interface RunDeleterDependencies extends Pick<Platform, 'bus' | 'logger'> {
  readonly database: Database;
  readonly progress?: LoopProgress;
}

/** Deletes runs on request, here and in the dispatcher, and later deletes events that arrived in between. */
export class RunDeleter {
  readonly #dependencies: RunDeleterDependencies;
  readonly #runs: DeletedRuns;
  readonly #progress: LoopProgress;
  readonly #looking = new Repeating(() => this.removeDue());

  constructor(dependencies: RunDeleterDependencies) {
    this.#dependencies = dependencies;
    this.#progress = dependencies.progress ?? new LoopProgress();
    this.#runs = new DeletedRuns(dependencies.database);
  }

  start(): void {
    this.#looking.start(0);
  }

  async stop(): Promise<void> {
    await this.#looking.stop();
  }

  /** Answers within the deadline of the command; the rest of a long run is deleted in the background. */
  async delete(question: RunDeletion): Promise<z.infer<typeof COMMANDS.deleteRun.answer>> {
    const deleted = await this.#runs.mark(question);
    if (deleted === undefined) return { ok: false, problem: { status: 404, error: 'Run not found' } };
    const complete = await this.#remove(deleted);
    return { ok: true, value: { id: deleted.runId, deletedAt: deleted.deletedAt, complete } };
  }

  /** Deletes what is due. Replicas may do so at the same time. @returns when the next round is due, ms */
  async removeDue(): Promise<number> {
    try {
      const due = await this.#runs.due(RUNS_AT_ONCE);
      if (due.length === 0) this.#progress.succeeded();
      let complete = true;
      for (const run of due) complete = (await this.#remove(run)) && complete;
      return complete && due.length === RUNS_AT_ONCE ? NEXT_ROUND_MS : LOOK_MS;
    } catch (err) {
      this.#progress.failed();
      this.#dependencies.logger.warn({ err }, 'reading deleted runs failed, will retry');
      return LOOK_MS;
    }
  }

  /** Never throws: what remains stays due. @returns true if nothing is left of the run */
  async #remove(run: DeletedRun): Promise<boolean> {
    const { tenantId, runId } = run;
    this.#progress.failed();
    try {
      for (let batches = 0; await this.#runs.removeSome(run); batches++)
        if (batches === BATCHES_AT_ONCE) return this.#advanced(false);
      const answer = await this.#dependencies.bus.request(COMMANDS.deleteRunActions, { tenantId, runIds: [runId] });
      if (!answer.ok) throw new Error(answer.problem.error);
      await this.#runs.passed(run);
      return this.#advanced(true);
    } catch (err) {
      this.#dependencies.logger.warn({ err, tenantId, runId }, 'deleting a run failed, will retry');
      await this.#runs.postpone(run).catch((error: unknown) => {
        this.#dependencies.logger.warn({ err: error, tenantId, runId }, 'postponing the deletion of a run failed');
      });
      return false;
    }
  }

  #advanced(isComplete: boolean): boolean {
    this.#progress.succeeded();
    return isComplete;
  }
}
