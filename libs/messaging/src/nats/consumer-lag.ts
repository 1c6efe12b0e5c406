import { type ConsumerInfo, JetStreamApiError, type JetStreamManager, type NextMsgRequest } from '@nats-io/jetstream';
import { type ConsumerLag, NO_LAG } from '../event-bus.ts';

const NO_MESSAGE = 10_037;
const CONSUMER_NOT_FOUND = 10_014;

/**
 * How far a durable is behind. The oldest message not acknowledged is the first one of its filter above its ack floor; a
 * count alone says little where a message is a batch. Where the filter leaves messages of the stream out, those make the
 * backlog younger.
 */
export async function consumerLag(
  manager: JetStreamManager,
  stream: string,
  durable: string,
  nowMs: number,
): Promise<ConsumerLag> {
  const info = await infoOf(manager, stream, durable);
  if (!info) return NO_LAG;
  const { num_pending: pending, num_ack_pending: unacknowledged, ack_floor: floor, delivered, config } = info;
  if (pending + unacknowledged === 0) return NO_LAG;
  const ageAfter = async (sequence: number): Promise<number> => {
    const publishedAtMs = await firstAfter(manager, stream, sequence, config.filter_subject ?? '>');
    return publishedAtMs === undefined ? 0 : Math.max(0, nowMs - publishedAtMs);
  };
  const oldestAgeMs = await ageAfter(floor.stream_seq);
  const settled = delivered.stream_seq - unacknowledged;
  const backlogAgeMs = settled > floor.stream_seq ? await ageAfter(settled) : oldestAgeMs;
  return { pending, unacknowledged, oldestAgeMs, backlogAgeMs };
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
