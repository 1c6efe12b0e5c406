import { DeliverPolicy, type JetStreamClient, type JetStreamManager } from '@nats-io/jetstream';
import type { EnvelopePage, MessageEnvelope } from '../event-bus.ts';
import { ONLY_GROUP } from '../message-headers.ts';
import { firstAfter } from './first-after.ts';
import { headersOf } from './stream-message.ts';

interface EnvelopeSource {
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly stream: string;
  readonly filter: string;
}

/** More than any page takes to come; a broker that is silent longer ends the page early, and the next one goes on. */
const WAIT_MS = 5_000;

/**
 * One page of messages after a sequence, headers only, by an ephemeral consumer that goes with the page.
 *
 * @throws where a copy of the stream answers that is not in step with its leader
 */
export async function readEnvelopes(source: EnvelopeSource, after: number, most: number): Promise<EnvelopePage> {
  const { client, manager, stream, filter } = source;
  const newest = (await manager.streams.info(stream)).state.last_seq;
  if (newest <= after) return { envelopes: [], looked: 0, upTo: after, newest };
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
      return { envelopes: [], looked: 0, upTo: newest, newest };
    }
    const envelopes: MessageEnvelope[] = [];
    let upTo = after;
    let looked = 0;
    const page = await consumer.fetch({ max_messages: Math.min(most, num_pending), expires: WAIT_MS });
    for await (const { subject, headers, info } of page) {
      upTo = info.streamSequence;
      looked += 1;
      if (!headers?.has(ONLY_GROUP)) envelopes.push({ subject, sequence: upTo, headers: headersOf(headers) });
      if (info.pending === 0) break;
    }
    return { envelopes, looked, upTo, newest };
  } finally {
    await consumer.delete().catch(() => false);
  }
}

/**
 * In a cluster the consumer is on any copy of the stream, also one that is still to get what its leader has. What is not
 * there is gone only if the leader does not have it either.
 */
async function requireNothing(
  { manager, stream, filter }: EnvelopeSource,
  after: number,
  newest: number,
): Promise<void> {
  const found = await firstAfter(manager, stream, after, filter);
  if (found === null || found.seq > newest) return;
  throw new Error(`a copy of ${stream} is not in step: it has nothing after ${after}, its leader has ${found.seq}`);
}
