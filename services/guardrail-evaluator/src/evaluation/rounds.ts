import type { EventBatch } from '@agentlens/contracts';
import type { EvaluationPipeline } from './evaluation-pipeline.ts';
import { FairQueue } from './fair-queue.ts';

/** Concurrent rounds: the store counts one while the next is planned here. */
const ROUNDS = 2;
/** Events per round: enough to share store calls, few enough that the next batch waits only milliseconds. */
const EVENTS = 200;

/** A batch that has not been parsed yet. */
interface Unread {
  readonly tenantId: string;
  /** The number of events in the batch. */
  readonly events: number;
  /** Called once. @throws an error that rejects this batch alone */
  readonly read: () => EventBatch;
}

interface Waiting {
  readonly read: Unread['read'];
  readonly evaluated: PromiseWithResolvers<void>;
}

/**
 * Evaluates waiting batches in rounds and divides each round fairly between the tenants, so that a flood of one tenant
 * delays only its own batches. Batches of one agent in the same round are counted in one step. A batch is parsed when
 * its round starts, because a parsed batch takes several times the memory and long-lived objects are expensive to
 * collect.
 */
export class Rounds {
  readonly #evaluator: Pick<EvaluationPipeline, 'begin'>;
  readonly #waiting = new FairQueue<Waiting>();
  #running = 0;
  #scheduled = false;

  constructor(evaluator: Pick<EvaluationPipeline, 'begin'>) {
    this.#evaluator = evaluator;
  }

  /** Resolves when the batch is evaluated. @throws StateUnavailable, BusUnavailable if it has to be evaluated again */
  evaluate({ tenantId, events, read }: Unread): Promise<void> {
    const evaluated = Promise.withResolvers<void>();
    this.#waiting.add(tenantId, events, { read, evaluated });
    this.#schedule();
    return evaluated.promise;
  }

  /** Starts in the next microtask, so that batches that arrive together share a round. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      while (this.#running < ROUNDS && !this.#waiting.empty) this.#begin(this.#waiting.take(EVENTS));
    });
  }

  #begin(list: readonly Waiting[]): void {
    this.#running += 1;
    const readable = list.flatMap(({ read, evaluated }) => {
      try {
        return [{ batch: read(), evaluated }];
      } catch (error) {
        evaluated.reject(error);
        return [];
      }
    });
    const { measured, done } = this.#evaluator.begin(readable.map(({ batch }) => batch));
    readable.forEach(({ evaluated }, at) => {
      (done[at] ?? Promise.resolve()).then(evaluated.resolve, evaluated.reject);
    });
    void measured.finally(() => {
      this.#running -= 1;
      this.#schedule();
    });
  }
}
