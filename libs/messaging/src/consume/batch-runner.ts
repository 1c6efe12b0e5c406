import type { DeadLetter, Topic } from '@agentlens/contracts';
import type { BatchHandler, BusLogger, HandlingOutcome, RawMessage, Received } from '../event-bus.ts';
import { BACK_OFF_MS, backOff } from '../util/retry.ts';
import { type BusMetrics, inConsumerSpan } from '../util/telemetry.ts';
import { LazyMessage, type Parsed, parseMessage } from './parse-message.ts';

/** One delivery of a message to one group. Call exactly one of the three methods, once. */
export interface BrokerDelivery extends RawMessage {
  ack(): void;
  retry(afterMs: number): void;
  /** Settles the message as not handled. Call only after its dead letter is stored. */
  discard(): void;
}

interface RunnerDependencies<T> {
  readonly system: 'nats' | 'memory';
  readonly topic: Topic<T>;
  readonly group: string;
  readonly handler: BatchHandler<T>;
  readonly storeDeadLetter: (letter: DeadLetter, sequence: number) => Promise<void>;
  readonly metrics: BusMetrics;
  readonly logger: BusLogger;
  readonly now: () => number;
  readonly backOffMs?: readonly number[];
  readonly lazy?: boolean | undefined;
}

/** Handles a batch for both adapters: parses messages, calls the handler and applies its outcomes. Never rejects. */
export class BatchRunner<T> {
  private readonly schedule: readonly number[];

  constructor(private readonly parts: RunnerDependencies<T>) {
    this.schedule = parts.backOffMs ?? BACK_OFF_MS;
  }

  async run(deliveries: readonly BrokerDelivery[]): Promise<void> {
    const valid: BrokerDelivery[] = [];
    const messages: Received<T>[] = [];
    for (const delivery of deliveries) {
      const parsed = this.read(delivery);
      if (parsed.ok) {
        valid.push(delivery);
        messages.push(parsed.message);
      } else {
        await this.settle(delivery, { kind: 'poison', reason: parsed.reason });
      }
    }
    if (valid.length === 0) return;
    const outcomes = await this.handle(messages);
    const settled = valid.map((delivery, index) =>
      this.settle(delivery, outcomes?.[index] ?? this.retryLater(delivery)),
    );
    await Promise.all(settled);
  }

  private read(delivery: BrokerDelivery): Parsed<T> {
    const { topic, lazy = false } = this.parts;
    if (lazy && topic.summary?.isIn(delivery.headers)) return { ok: true, message: new LazyMessage(topic, delivery) };
    return parseMessage(topic, delivery);
  }

  /** Outcomes in order; undefined if the handler threw or did not return one outcome per message. */
  private async handle(messages: readonly Received<T>[]): Promise<readonly HandlingOutcome[] | undefined> {
    const { topic, group, handler, metrics, logger, system } = this.parts;
    metrics.delivered(topic.name, group, messages.length);
    const headers = messages.map((message) => message.headers);
    try {
      const work = { system, topic: topic.name, group };
      const outcomes = await inConsumerSpan(work, headers, () => handler(messages));
      if (outcomes.length === messages.length) return outcomes;
      const answered = outcomes.length;
      logger.error(
        { topic: topic.name, group, messages: messages.length, answered },
        'handler returned a wrong number of outcomes, messages will be retried',
      );
    } catch (error) {
      const messageIds = messages.map((message) => message.messageId).slice(0, 10);
      logger.warn(
        { err: error, topic: topic.name, group, messageIds, attempt: messages[0]?.attempt },
        'handler threw, messages will be retried',
      );
    }
    return undefined;
  }

  private retryLater(delivery: BrokerDelivery): HandlingOutcome {
    return { kind: 'retry', afterMs: backOff(delivery.attempt, this.schedule), reason: 'handler threw' };
  }

  private async settle(delivery: BrokerDelivery, outcome: HandlingOutcome): Promise<void> {
    const { topic, group, metrics, logger } = this.parts;
    switch (outcome.kind) {
      case 'ack':
        delivery.ack();
        return;
      case 'retry':
        metrics.retried(topic.name, group);
        delivery.retry(Math.max(0, outcome.afterMs));
        return;
      case 'poison':
        try {
          await this.parts.storeDeadLetter(this.letterOf(delivery, outcome.reason), delivery.sequence);
        } catch (error) {
          // Store the letter first, so that a message is discarded only after it can be found again.
          logger.error(
            { err: error, topic: topic.name, group, messageId: delivery.messageId },
            'storing a dead letter failed, will retry',
          );
          delivery.retry(backOff(delivery.attempt, this.schedule));
          return;
        }
        delivery.discard();
        metrics.deadLettered(topic.name, group);
        logger.error(
          { topic: topic.name, group, messageId: delivery.messageId, reason: outcome.reason },
          'message moved to the dead letters',
        );
    }
  }

  private letterOf(delivery: BrokerDelivery, reason: string): DeadLetter {
    return {
      group: this.parts.group,
      topic: this.parts.topic.name,
      subject: delivery.subject,
      messageId: delivery.messageId,
      reason,
      attempts: delivery.attempt,
      failedAt: new Date(this.parts.now()).toISOString(),
      body: Buffer.from(delivery.raw).toString('base64'),
    };
  }
}
