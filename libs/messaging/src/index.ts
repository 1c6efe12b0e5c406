export { againWhile } from './again-while.ts';
export { allOf } from './all-of.ts';
export { BACK_OFF_MS, backOff } from './back-off.ts';
export { BackgroundWork } from './background-work.ts';
export { DueTime } from './due-time.ts';
export { each } from './each.ts';
export {
  ACK,
  type BatchHandler,
  BusUnavailable,
  CommandUnanswered,
  type ConsumeOptions,
  type ConsumerLag,
  type EnvelopePage,
  type EventBus,
  type HandlingOutcome,
  type LetterPage,
  type LettersAsked,
  type MessageEnvelope,
  NO_LAG,
  type PublishAck,
  type PublishOptions,
  type Received,
  type Subscription,
  UnreadableMessage,
  type WatchOptions,
} from './event-bus.ts';
export { Fifo } from './fifo.ts';
export { InFlight, type InFlightSlot } from './in-flight.ts';
export type { BusLogger } from './logger.ts';
export { createMemoryBus, type MemoryBusOptions } from './memory/memory-bus.ts';
export { connectNatsBus } from './nats/connect-nats-bus.ts';
export type { NatsBusOptions } from './nats/nats-bus-options.ts';
export { InvalidNatsAddress, natsServers } from './nats/server-addresses.ts';
export { observeQueue } from './observe-queue.ts';
export { readRange, watchWithPast } from './read-range.ts';
export { Repeating } from './repeating.ts';
export { within } from './within.ts';
export { type WrittenMessage, writtenMessage } from './written-message.ts';
