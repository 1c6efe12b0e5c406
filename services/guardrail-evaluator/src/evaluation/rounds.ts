import type { EventBatch } from '@agentlens/contracts';
import type { BatchEvaluator } from './batch-evaluator.ts';
import { FairQueue } from './fair-queue.ts';

/** One is counted by the store while the next is planned here. */
const ROUNDS = 2;
/** Enough to share calls of the store; little enough that who comes next waits for milliseconds. */
const EVENTS = 200;

/** A batch that need not have been read yet. */
interface Unread {
  readonly tenantId: string;
  /** How many events it holds. */
  readonly events: number;
  /** Called once. @throws what is then said of this batch alone */
  readonly read: () => EventBatch;
}

interface Waiting {
  readonly read: Unread['read'];
  readonly evaluated: PromiseWithResolvers<void>;
}

/**
 * Evaluates what waits in rounds, and shares each round out fairly between the tenants: a flood of one makes its own
 * batches wait. Batches of one agent that meet in a round are counted in one step. A batch is read when its round begins:
 * what waits is a few times as large once it is read, and what lives as long as a wait is dear to collect.
 */
export class Rounds {
  readonly #evaluator: Pick<BatchEvaluator, 'begin'>;
  readonly #waiting = new FairQueue<Waiting>();
  #running = 0;
  #scheduled = false;

  constructor(evaluator: Pick<BatchEvaluator, 'begin'>) {
    this.#evaluator = evaluator;
  }

  /** Resolves when the batch is evaluated. @throws StateUnavailable, BusUnavailable: evaluate it again */
  evaluate({ tenantId, events, read }: Unread): Promise<void> {
    const evaluated = Promise.withResolvers<void>();
    this.#waiting.add(tenantId, events, { read, evaluated });
    this.#schedule();
    return evaluated.promise;
  }

  /** In the next turn, so that what arrived together is evaluated together. */
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
