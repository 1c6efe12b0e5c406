import type { EventBus } from '@agentlens/messaging';
import {
  type Clock,
  type ControlBoard,
  DecisionMetrics,
  DecisionPublisher,
  type Platform,
  type PlatformConfig,
} from '@agentlens/platform';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BookCache } from './book-cache.ts';
import { LocalDecisions } from './local-decisions.ts';
import type { ProtocolMetrics } from './protocol-metrics.ts';

interface DecisionPathDependencies {
  readonly config: Pick<PlatformConfig, 'decisions'>;
  readonly bus: EventBus;
  readonly board: ControlBoard;
  readonly metrics: ProtocolMetrics;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

/** The parts of a gateway that decides itself; empty if the evaluator decides every call. */
@Injectable()
export class DecisionPathParts implements OnApplicationBootstrap {
  readonly local: LocalDecisions | undefined;
  readonly #books: BookCache | undefined;
  readonly #publisher: DecisionPublisher | undefined;

  private constructor(parts: { local: LocalDecisions; books: BookCache; publisher: DecisionPublisher } | undefined) {
    this.local = parts?.local;
    this.#books = parts?.books;
    this.#publisher = parts?.publisher;
  }

  /** Loads the catalog of conditions only if it is used: it takes 5 MB. */
  static async open({
    config,
    bus,
    board,
    metrics,
    clock,
    logger,
  }: DecisionPathDependencies): Promise<DecisionPathParts> {
    const { path, bookTtlSeconds } = config.decisions;
    if (path === 'evaluator') return new DecisionPathParts(undefined);
    const guardrails = await import('@agentlens/guardrails');
    const decided = new DecisionMetrics();
    const publisher = new DecisionPublisher(bus, decided, logger, {}, 'gateway_decisions');
    const books = new BookCache({
      ...{ bus, orders: board, clock, guardrails, metrics, logger },
      bookTtlMs: bookTtlSeconds * 1000,
    });
    const local = new LocalDecisions({ books, guardrails, publisher, decided, metrics, clock, logger });
    return new DecisionPathParts({ local, books, publisher });
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.#books?.start();
  }

  /** Publishes the decisions made here. */
  async drain(): Promise<void> {
    await this.#books?.stop();
    this.local?.recordNow();
    await this.#publisher?.drain();
  }
}
