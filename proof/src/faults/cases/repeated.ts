import { STREAMS } from '@agentlens/contracts';
import { DeliverPolicy, jetstream } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import type { Fault, Lab } from '../fault.ts';
import type { Site } from '../site.ts';
import { underLoad } from './under-load.ts';

const COPIES = 2;
/** Maximum distance that a copy moves. */
const SHUFFLED_WITHIN = 1_000;
const STREAM = STREAMS.AGENT_EVENTS.name;

interface Kept {
  readonly subject: string;
  readonly data: Uint8Array;
}

const repeated: Fault = {
  id: 'F-12',
  title: 'every message is repeated three times, out of order, and the stream again from its beginning',
  smoke: true,
  async run(lab) {
    // A separate platform, because the whole stream is repeated, and earlier faults may have left hours of it.
    const site = await lab.freshSite();
    const { first_seq, last_seq } = (await site.streams.manager.streams.info(STREAM)).state;
    const from = Math.max(first_seq, last_seq + 1);
    await underLoad(lab, site, {
      load: { eventsPerSecond: 1_000, seconds: lab.smoke ? 6 : 12, batchSize: 20 },
      faults: async () => undefined,
      onLoadEnd: async () => {
        const kept = await messagesFrom(site, from);
        // New message ids, because the broker would drop the copies otherwise.
        const copies = shuffled(Array.from({ length: COPIES }, () => kept).flat(), lab);
        await publish(site, copies);
        lab.note(`${kept.length} messages published ${COPIES} more times, shuffled`);
        for await (const { name } of site.streams.manager.consumers.list(STREAM)) {
          await site.streams.manager.consumers.delete(STREAM, name);
          lab.note(`reset the position of ${name}: it receives everything again`);
        }
        await lab.sleep(2_000);
      },
    });
  },
};

async function messagesFrom(site: Site, sequence: number): Promise<Kept[]> {
  const { streams } = site;
  const { last_seq } = (await streams.manager.streams.info(STREAM)).state;
  const consumer = await jetstream(streams.connection).consumers.get(STREAM, {
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: sequence,
  });
  const kept: Kept[] = [];
  const messages = await consumer.consume();
  for await (const message of messages) {
    kept.push({ subject: message.subject, data: message.data });
    if (message.seq >= last_seq) break;
  }
  return kept;
}

async function publish(site: Site, messages: readonly Kept[]): Promise<void> {
  const client = jetstream(site.streams.connection);
  for (const [index, { subject, data }] of messages.entries()) {
    const wire = headers();
    wire.set('content-type', 'application/json');
    await client.publish(subject, data, { msgID: `copy-${Date.now()}-${index}`, headers: wire });
  }
}

/** Moves each item within a window around its position. */
function shuffled<T>(items: readonly T[], lab: Lab): T[] {
  return items
    .map((item, index) => ({ item, place: index + lab.random() * SHUFFLED_WITHIN }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

export const REPEATED = [repeated];
