import { type ConsumerInfo, JetStreamApiError, type JetStreamManager, type NextMsgRequest } from '@nats-io/jetstream';
import type { ConsumerLag } from '../event-bus.ts';

const NO_MESSAGE = 10_037;
const CONSUMER_NOT_FOUND = 10_014;
const NONE: ConsumerLag = { pending: 0, unacknowledged: 0, oldestAgeMs: 0 };

/**
 * How far a durable is behind. The oldest message not acknowledged is the first one of its filter above its ack floor; a
 * count alone says little where a message is a batch.
 */
export async function consumerLag(
  manager: JetStreamManager,
  stream: string,
  durable: string,
  nowMs: number,
): Promise<ConsumerLag> {
  const info = await infoOf(manager, stream, durable);
  if (!info) return NONE;
  const { num_pending: pending, num_ack_pending: unacknowledged } = info;
  if (pending + unacknowledged === 0) return NONE;
  const oldest = await firstAfter(manager, stream, info.ack_floor.stream_seq, info.config.filter_subject ?? '>');
  return { pending, unacknowledged, oldestAgeMs: ageOf(oldest, nowMs) };
}

/**
 * Age of the first of as many of the newest messages as the durable has not settled, ms. Exact where its filter takes all
 * of the stream; else the messages of other filters make it younger.
 */
export async function backlogAge(
  manager: JetStreamManager,
  stream: string,
  durable: string,
  nowMs: number,
): Promise<number> {
  const info = await infoOf(manager, stream, durable);
  if (!info || info.num_pending + info.num_ack_pending === 0) return 0;
  const settled = Math.max(info.ack_floor.stream_seq, info.delivered.stream_seq - info.num_ack_pending);
  const oldest = await firstAfter(manager, stream, settled, info.config.filter_subject ?? '>');
  return ageOf(oldest, nowMs);
}

async function infoOf(manager: JetStreamManager, stream: string, durable: string): Promise<ConsumerInfo | undefined> {
  try {
    return await manager.consumers.info(stream, durable);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === CONSUMER_NOT_FOUND) return undefined;
    throw error;
  }
}

async function firstAfter(
  manager: JetStreamManager,
  stream: string,
  sequence: number,
  filter: string,
): Promise<number | undefined> {
  try {
    const next = { seq: sequence + 1, next_by_subj: filter } satisfies NextMsgRequest;
    const message = await manager.streams.getMessage(stream, next);
    return message?.time.getTime();
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === NO_MESSAGE) return undefined;
    throw error;
  }
}

function ageOf(publishedAtMs: number | undefined, nowMs: number): number {
  return publishedAtMs === undefined ? 0 : Math.max(0, nowMs - publishedAtMs);
}
