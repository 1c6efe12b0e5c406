import type { EventBus } from '@agentlens/messaging';
import {
  type Clock,
  type ControlBoard,
  DecisionMetrics,
  DecisionPublisher,
  type Platform,
  type PlatformConfig,
} from '@agentlens/platform';
import { BookCache } from './book-cache.ts';
import { LocalDecisions } from './local-decisions.ts';
import type { ProtocolMetrics } from './protocol-metrics.ts';

interface DecisionPathDependencies {
  readonly config: Pick<PlatformConfig, 'decisions'>;
  readonly bus: EventBus;
  readonly board: ControlBoard;
  readonly metrics: ProtocolMetrics;
  readonly clock: Clock;
  readonly health: Pick<Platform['health'], 'watchLoop'>;
  readonly logger: Platform['logger'];
}

/** The parts of a gateway that decides itself; empty if the evaluator decides every call. */
export class DecisionPathParts {
  readonly #dependencies: DecisionPathDependencies;
  #local: LocalDecisions | undefined;
  #books: BookCache | undefined;
  #publisher: DecisionPublisher | undefined;

  constructor(dependencies: DecisionPathDependencies) {
    this.#dependencies = dependencies;
  }

  /** Decides what this gateway can prove; undefined if it asks the evaluator about every call. */
  get local(): LocalDecisions | undefined {
    return this.#local;
  }

  /** Loads the catalog of conditions only if it is used: it takes 5 MB. */
  async start(): Promise<void> {
    const { config, bus, board, metrics, clock, health, logger } = this.#dependencies;
    const { path, bookTtlSeconds } = config.decisions;
    if (path === 'evaluator') return;
    const guardrails = await import('@agentlens/guardrails');
    const decided = new DecisionMetrics();
    const progress = health.watchLoop('gateway-decisions');
    const publisher = new DecisionPublisher(bus, decided, logger, { progress }, 'gateway_decisions');
    const books = new BookCache({
      ...{ bus, orders: board, clock, guardrails, metrics, logger },
      bookTtlMs: bookTtlSeconds * 1000,
    });
    this.#local = new LocalDecisions({ books, guardrails, publisher, decided, metrics, clock, logger });
    this.#books = books;
    this.#publisher = publisher;
    await books.start();
  }

  /** Publishes the decisions made here. */
  async drain(): Promise<void> {
    await this.#books?.stop();
    this.#local?.recordNow();
    await this.#publisher?.drain();
  }
}
