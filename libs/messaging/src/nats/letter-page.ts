import { deadLetters, STREAMS } from '@agentlens/contracts';
import { DeliverPolicy, type JetStreamClient, type JsMsg } from '@nats-io/jetstream';
import { lettersIn } from '../dead-letter-access.ts';
import { BusUnavailable, type LetterPage, type LettersAsked } from '../event-bus.ts';
import type { BusLogger } from '../logger.ts';
import { factsOf } from './stream-message.ts';

const COME_BACK_MS = 1_000;
/** More than any page takes to come. */
const WAIT_MS = 5_000;

/** One page of dead letters, by an ephemeral consumer that goes with the page. @throws BusUnavailable */
export async function readLetterPage(
  client: JetStreamClient,
  { tenantId, after, most }: LettersAsked,
  logger: BusLogger,
): Promise<LetterPage> {
  const consumer = await client.consumers.get(STREAMS.DEAD_LETTERS.name, {
    filter_subjects: deadLetters.pattern(tenantId),
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: after + 1,
  });
  try {
    const { num_pending } = await consumer.info(true);
    const expected = Math.min(most, num_pending);
    const read: JsMsg[] = [];
    if (expected > 0) {
      for await (const message of await consumer.fetch({ max_messages: expected, expires: WAIT_MS })) {
        read.push(message);
        if (read.length === expected) break;
      }
    }
    if (read.length < expected) {
      throw new BusUnavailable(`the broker handed over ${read.length} dead letters of ${expected}`, COME_BACK_MS);
    }
    return {
      letters: read.flatMap((message) => lettersIn(storedIn(message), logger)),
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
