import { COMMANDS } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { type EventBus, Repeating, type Subscription } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import type { z } from 'zod';
import { type DeletedRun, DeletedRuns, type RunDeletion } from './deleted-runs.repository.ts';

const LOOK_MS = 15_000;
const NEXT_ROUND_MS = 200;
const RUNS_AT_ONCE = 20;
/** A request is answered within its deadline: of a longer run the rest is removed in the background. */
const BATCHES_AT_ONCE = 5;

interface RunDeleterDependencies {
  readonly bus: EventBus;
  readonly database: Database;
  readonly logger: Platform['logger'];
}

/** Deletes runs on request, here and at the dispatcher, and looks again later for what was on its way meanwhile. */
export class RunDeleter {
  readonly #parts: RunDeleterDependencies;
  readonly #runs: DeletedRuns;
  readonly #looking = new Repeating(() => this.removeDue());
  #serving: Subscription | undefined;

  constructor(parts: RunDeleterDependencies) {
    this.#parts = parts;
    this.#runs = new DeletedRuns(parts.database);
  }

  async start(): Promise<void> {
    this.#serving = await this.#parts.bus.serve(COMMANDS.deleteRun, (question) => this.#delete(question));
    this.#looking.start(0);
  }

  async stop(): Promise<void> {
    await this.#serving?.close();
    await this.#looking.stop();
  }

  async #delete(question: RunDeletion): Promise<z.infer<typeof COMMANDS.deleteRun.answer>> {
    const deleted = await this.#runs.mark(question);
    if (deleted === undefined) return { ok: false, problem: { status: 404, error: 'Run not found' } };
    const complete = await this.#remove(deleted);
    return { ok: true, value: { id: deleted.runId, deletedAt: deleted.deletedAt, complete } };
  }

  /** One round; answers when the next one is due, ms. Replicas may do the same at once. */
  async removeDue(): Promise<number> {
    try {
      const due = await this.#runs.due(RUNS_AT_ONCE);
      let complete = true;
      for (const run of due) complete = (await this.#remove(run)) && complete;
      return complete && due.length === RUNS_AT_ONCE ? NEXT_ROUND_MS : LOOK_MS;
    } catch (err) {
      this.#parts.logger.warn({ err }, 'deleted runs could not be looked for, trying again');
      return LOOK_MS;
    }
  }

  /** Whether nothing is left of it. Never throws: what is not removed now is due still. */
  async #remove(run: DeletedRun): Promise<boolean> {
    const { tenantId, runId } = run;
    try {
      for (let batches = 0; await this.#runs.removeSome(run); batches++) if (batches === BATCHES_AT_ONCE) return false;
      const answer = await this.#parts.bus.request(COMMANDS.deleteRunActions, { tenantId, runIds: [runId] });
      if (!answer.ok) throw new Error(answer.problem.error);
      await this.#runs.passed(run);
      return true;
    } catch (err) {
      this.#parts.logger.warn({ err, tenantId, runId }, 'not all of a deleted run is removed yet, trying again');
      return false;
    }
  }
}
