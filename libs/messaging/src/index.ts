export {
  ACK,
  type BatchHandler,
  BusUnavailable,
  CommandUnanswered,
  type ConsumeOptions,
  type ConsumerLag,
  type EventBus,
  type Outcome,
  type PublishAck,
  type Received,
  type Subscription,
  type WatchOptions,
} from './event-bus.ts';
