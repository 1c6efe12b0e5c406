import { deadLetters, STREAMS } from '@agentlens/contracts';
import {
  type ConsumerInfo,
  DeliverPolicy,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  type NextMsgRequest,
  type StoredMsg,
} from '@nats-io/jetstream';
import { parseLetter } from '../consume/dead-letters.ts';
import {
  type BusLogger,
  BusUnavailable,
  type ConsumerLag,
  type DeadLetterPage,
  type DeadLetterQuery,
  type EnvelopePage,
  type MessageEnvelope,
  NO_LAG,
} from '../event-bus.ts';
import { ONLY_GROUP } from '../publish/encoded-message.ts';
import { factsOf, headersOf } from './stream-message.ts';

/** First message after a sequence whose subject matches, read from the stream's leader; null if there is none. */
function firstAfter(
  manager: JetStreamManager,
  stream: string,
  sequence: number,
  filter: string,
): Promise<StoredMsg | null> {
  const next = { seq: sequence + 1, next_by_subj: filter } satisfies NextMsgRequest;
  return manager.streams.getMessage(stream, next);
}

const CONSUMER_NOT_FOUND = 10_014;

/**
 * How far a durable consumer is behind. The oldest unacknowledged message is the first one above the ack floor that
 * matches the filter. If the filter leaves messages out, `backlogAgeMs` is too low.
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

interface EnvelopeSource {
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly stream: string;
  readonly filter: string;
}

/** More than any page needs. If the broker stops responding, the page is cut short and the next call continues. */
const WAIT_MS = 5_000;

/**
 * Reads one page of headers after a sequence with an ephemeral consumer.
 *
 * @throws if the replica that answered lags behind the stream's leader
 */
export async function readEnvelopes(source: EnvelopeSource, after: number, limit: number): Promise<EnvelopePage> {
  const { client, manager, stream, filter } = source;
  const newest = (await manager.streams.info(stream)).state.last_seq;
  if (newest <= after) return { envelopes: [], scanned: 0, upTo: after, newest };
  const consumer = await client.consumers.get(stream, {
    filter_subjects: filter,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: after + 1,
    headers_only: true,
  });
  try {
    const { num_pending } = await consumer.info(true);
    if (num_pending === 0) {
      await requireNothing(source, after, newest);
      return { envelopes: [], scanned: 0, upTo: newest, newest };
    }
    const envelopes: MessageEnvelope[] = [];
    let upTo = after;
    let scanned = 0;
    const page = await consumer.fetch({ max_messages: Math.min(limit, num_pending), expires: WAIT_MS });
    for await (const { subject, headers, info } of page) {
      upTo = info.streamSequence;
      scanned += 1;
      if (!headers?.has(ONLY_GROUP)) envelopes.push({ subject, sequence: upTo, headers: headersOf(headers) });
      if (info.pending === 0) break;
    }
    return { envelopes, scanned, upTo, newest };
  } finally {
    await consumer.delete().catch(() => false);
  }
}

/**
 * In a cluster the consumer may be on a replica that has not caught up. An empty page is only trusted if the leader has
 * nothing either.
 */
async function requireNothing(
  { manager, stream, filter }: EnvelopeSource,
  after: number,
  newest: number,
): Promise<void> {
  const found = await firstAfter(manager, stream, after, filter);
  if (found === null || found.seq > newest) return;
  throw new Error(`a replica of ${stream} is lagging: it has nothing after ${after}, its leader has ${found.seq}`);
}

const COME_BACK_MS = 1_000;

/** One page of dead letters, by an ephemeral consumer that goes with the page. @throws BusUnavailable */
export async function readDeadLetterPage(
  client: JetStreamClient,
  { tenantId, after, limit }: DeadLetterQuery,
  logger: BusLogger,
): Promise<DeadLetterPage> {
  const consumer = await client.consumers.get(STREAMS.DEAD_LETTERS.name, {
    filter_subjects: deadLetters.pattern(tenantId),
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: after + 1,
  });
  try {
    const { num_pending } = await consumer.info(true);
    const expected = Math.min(limit, num_pending);
    const read: JsMsg[] = [];
    if (expected > 0) {
      for await (const message of await consumer.fetch({ max_messages: expected, expires: WAIT_MS })) {
        read.push(message);
        if (read.length === expected) break;
      }
    }
    if (read.length < expected) {
      throw new BusUnavailable(`the broker delivered ${read.length} of ${expected} dead letters`, COME_BACK_MS);
    }
    return {
      letters: read.flatMap((message) => parseLetter(storedIn(message), logger)),
      upTo: read.at(-1)?.seq ?? after,
      remaining: num_pending - expected,
    };
  } finally {
    await consumer.delete().catch(() => false);
  }
}

function storedIn({ data: raw, subject, headers, info, seq: sequence }: JsMsg) {
  const publishedAtMs = Math.floor(info.timestampNanos / 1_000_000);
  return factsOf({ raw, subject, headers, stream: info.stream, sequence, publishedAtMs, attempt: 1 });
}
