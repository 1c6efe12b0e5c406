import { agentEvents, type EventBatch, GROUPS } from '@agentlens/contracts';
import { ACK, type EventBus, type Outcome, type Received, type Subscription } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import type { BatchEvaluator } from './evaluation/batch-evaluator.ts';
import { Failures } from './evaluation/failures.ts';

export const GROUP = GROUPS.guardrailEvaluator;

/** Takes batches of events from the stream and has them evaluated. */
export class AgentEventsConsumer {
  readonly #failures = new Failures();
  #subscription: Subscription | undefined;

  constructor(
    private readonly bus: EventBus,
    private readonly evaluator: BatchEvaluator,
    private readonly logger: Platform['logger'],
  ) {}

  async start(): Promise<void> {
    // The wait is how long a batch lies when an evaluator dies; running handlers extend it.
    this.#subscription = await this.bus.consume(
      agentEvents,
      { group: GROUP, maxBatch: 32, concurrency: 4, ackWaitMs: 5_000 },
      (messages) => Promise.all(messages.map((message) => this.#handle(message))),
    );
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
  }

  async #handle({ value: batch, messageId, attempt }: Received<EventBatch>): Promise<Outcome> {
    try {
      await this.evaluator.evaluate(batch);
      this.#failures.forget(messageId);
      return ACK;
    } catch (error) {
      const outcome = this.#failures.outcome(messageId, attempt, error);
      this.logger.warn(
        { err: error, tenantId: batch.tenantId, messageId, attempt },
        `batch not evaluated: ${outcome.kind}`,
      );
      return outcome;
    }
  }
}
