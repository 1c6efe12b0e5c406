export { each } from './consume/each.ts';
export { readRange, watchWithPast } from './consume/read-range.ts';
export {
  ACK,
  type BatchHandler,
  type BusLogger,
  BusUnavailable,
  CommandUnanswered,
  type ConsumeOptions,
  type ConsumerLag,
  type DeadLetterPage,
  type DeadLetterQuery,
  type EnvelopePage,
  type EventBus,
  type HandlingOutcome,
  type MessageEnvelope,
  NO_LAG,
  type PublishAck,
  type PublishOptions,
  type Received,
  type Subscription,
  UnreadableMessage,
  type Watch,
  type WatchOptions,
} from './event-bus.ts';
export { createMemoryBus, type MemoryBusOptions } from './memory/memory-bus.ts';
export { connectNatsBus } from './nats/connect-nats-bus.ts';
export type { NatsBusOptions } from './nats/open-nats-bus.ts';
export { InvalidNatsAddress, natsServers } from './nats/server-addresses.ts';
export { type EncodedMessage, encodeMessage } from './publish/encoded-message.ts';
export { Fifo } from './util/fifo.ts';
export { BackgroundWork, InFlight, type InFlightSlot } from './util/in-flight.ts';
export { settleAll, within, withTimeout } from './util/promises.ts';
export { BACK_OFF_MS, backOff, type RetryPolicy, retry } from './util/retry.ts';
export { MinIntervalGate, Repeating } from './util/schedule.ts';
export { observeQueue } from './util/telemetry.ts';
