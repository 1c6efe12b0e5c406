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
import type { OutboxMessage } from '@agentlens/database';
import type { EventBus } from '@agentlens/messaging';

/** Well below the time a relay may hold its transaction. */
const PUBLISH_DEADLINE_MS = 5_000;

/** Publishes a row of this service's outbox; its message id makes a repetition harmless. */
export async function publishFact(bus: EventBus, { topic, body }: OutboxMessage): Promise<void> {
  switch (topic) {
    case directiveIssued.name:
      return send(bus, directiveIssued, Directive.parse(body));
    case deliverySettled.name:
      return send(bus, deliverySettled, DeliverySettled.parse(body));
    case alertChanged.name:
      return send(bus, alertChanged, Alert.parse(body));
    case controlOrdered.name:
      return send(bus, controlOrdered, ControlOrder.parse(body));
    default:
      throw new Error(`the outbox of action-dispatcher holds a row for topic "${topic}", which it never writes`);
  }
}

async function send<T>(bus: EventBus, topic: Topic<T>, message: T): Promise<void> {
  await bus.publish(topic, message, { deadlineMs: PUBLISH_DEADLINE_MS });
}
