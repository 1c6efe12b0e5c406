import {
  Alert,
  alertChanged,
  ControlOrder,
  controlOrdered,
  DeliverySettled,
  Directive,
  deliverySettled,
  directiveIssued,
  type Topic,
} from '@agentlens/contracts';
import { type OutboxMessage, OutboxRelay, type Tables } from '@agentlens/database';
import { BusUnavailable } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import type { Kysely, Transaction } from 'kysely';

/** Names this service's rows in the outbox, and its relay. */
export const WRITER = 'action-dispatcher';

/** Well below the time a relay may hold its transaction. */
const PUBLISH_DEADLINE_MS = 5_000;
/** `publishSoon` gathers facts for this long. */
const GATHER_MS = 50;

/** Inserts a fact that is published once if the transaction commits, and not at all otherwise. */
export async function putInOutbox<T extends object>(
  tx: Transaction<Tables>,
  topic: Topic<T>,
  message: T,
  createdAt: string,
): Promise<void> {
  await tx
    .insertInto('outbox')
    .values({ writer: WRITER, topic: topic.name, body: JSON.stringify(message), created_at: createdAt })
    .execute();
}

/** Publishes the facts that committed transactions left in this service's outbox. */
export class Outbox {
  readonly #relay: OutboxRelay;
  #timer: NodeJS.Timeout | undefined;

  constructor({
    bus,
    health,
    logger,
    db,
  }: Pick<Platform, 'bus' | 'health' | 'logger'> & { readonly db: Kysely<Tables> }) {
    const progress = health.watchLoop('dispatcher-outbox');
    this.#relay = new OutboxRelay({
      db,
      writer: WRITER,
      publish: (message) => publishFact(bus, message),
      unordered: ({ topic }) => topic === deliverySettled.name,
      isRefused: (error) => !(error instanceof BusUnavailable),
      onRefused: ({ id, topic }, err) => logger.error({ err, id, topic }, 'dropped a fact that cannot be published'),
      attempt: (work) => progress.attempt(work),
      onError: (error) => logger.warn({ err: error }, 'outbox publish failed, will retry'),
    });
  }

  start(): void {
    this.#relay.start();
  }

  publishNow(): void {
    this.#relay.nudge();
  }

  /** For facts that no request waits for: publishes them together. */
  publishSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#relay.nudge();
    }, GATHER_MS);
  }

  /** Publishes what is left. If the bus is unavailable, the next start does. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#relay.stop();
    await this.#relay.drain().catch(() => 0);
  }
}

/** The message id makes a repeated publish harmless. */
async function publishFact(bus: Platform['bus'], { topic, body }: OutboxMessage): Promise<void> {
  const send = async <T>(to: Topic<T>, message: T): Promise<void> => {
    await bus.publish(to, message, { deadlineMs: PUBLISH_DEADLINE_MS });
  };
  switch (topic) {
    case directiveIssued.name:
      return send(directiveIssued, Directive.parse(body));
    case deliverySettled.name:
      return send(deliverySettled, DeliverySettled.parse(body));
    case alertChanged.name:
      return send(alertChanged, Alert.parse(body));
    case controlOrdered.name:
      return send(controlOrdered, ControlOrder.parse(body));
    default:
      throw new Error(`the outbox of action-dispatcher holds a row for topic "${topic}", which it never writes`);
  }
}
