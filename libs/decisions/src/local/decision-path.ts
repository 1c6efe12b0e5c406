import type { DecisionRequest } from '@agentlens/contracts';
import type { EventBus } from '@agentlens/messaging';
import {
  type Clock,
  type ControlBoard,
  DecisionMetrics,
  DecisionPublisher,
  type Platform,
  type PlatformConfig,
} from '@agentlens/platform';
import type { GatewayMetrics } from '../gateway-metrics.ts';
import { BookCache } from './book-cache.ts';
import { LocalDecisions } from './local-decisions.ts';

interface DecisionPathDependencies {
  readonly config: Pick<PlatformConfig, 'decisions'>;
  readonly bus: EventBus;
  readonly board: ControlBoard;
  readonly metrics: GatewayMetrics;
  readonly clock: Clock;
  readonly health: Pick<Platform['health'], 'watchLoop'>;
  readonly logger: Platform['logger'];
}

/** The parts of a gateway that decides itself; empty if the evaluator decides every call. */
export class LocalDecisionPath {
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

  /**
   * Returns true if a rule decides or counts such calls; undefined if the rules of the tenant are not known here now.
   * Starts to read them then.
   */
  concerns(question: Pick<DecisionRequest, 'tenantId' | 'agentId' | 'phase' | 'tool'>): boolean | undefined {
    const { book, isFresh = false } = this.#books?.use(question.tenantId) ?? {};
    if (book === undefined || !isFresh) return undefined;
    return book.rules.matching(question).length + book.rules.counting(question).length > 0;
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
