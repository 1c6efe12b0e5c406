import { type ConsumerInfo, JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream';
import { type ConsumerLag, NO_LAG } from '../event-bus.ts';
import { firstAfter } from './first-after.ts';

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
  const {
    num_pending: pending,
    num_ack_pending: unacknowledged,
    num_redelivered: redelivered,
    ack_floor: floor,
    delivered,
    config,
  } = info;
  if (pending + unacknowledged === 0) return NO_LAG;
  const ageAfter = async (sequence: number): Promise<number> => {
    const first = await firstAfter(manager, stream, sequence, config.filter_subject ?? '>');
    return first === null ? 0 : Math.max(0, nowMs - first.time.getTime());
  };
  const oldestAgeMs = await ageAfter(floor.stream_seq);
  const settled = delivered.stream_seq - unacknowledged;
  const backlogAgeMs = settled > floor.stream_seq ? await ageAfter(settled) : oldestAgeMs;
  return { pending, unacknowledged, redelivered, oldestAgeMs, backlogAgeMs };
}

async function infoOf(manager: JetStreamManager, stream: string, durable: string): Promise<ConsumerInfo | undefined> {
  try {
    return await manager.consumers.info(stream, durable);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === CONSUMER_NOT_FOUND) return undefined;
    throw error;
  }
}
