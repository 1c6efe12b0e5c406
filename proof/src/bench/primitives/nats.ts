import { jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { Primitive } from './primitive.ts';
import { callTimes, HUNDRED_EVENTS } from './sample.ts';

const STREAM = 'BENCH_PRIMITIVES';
const SUBJECT = 'bench.primitives';
const QUESTION = 'bench.question';

/** A request answered by another connection, and a message of 100 events until it is synced to disk. */
export async function measureNats(url: string, milliseconds: number): Promise<readonly Primitive[]> {
  const [asking, answering] = await Promise.all([connect({ servers: url }), connect({ servers: url })]);
  try {
    answering.subscribe(QUESTION, {
      callback: (_, message) => {
        message.respond();
      },
    });
    await answering.flush();
    const trip = await callTimes(milliseconds, () => asking.request(QUESTION));
    const manager = await jetstreamManager(asking);
    await manager.streams.add({ name: STREAM, subjects: [SUBJECT], storage: StorageType.File });
    try {
      const stream = jetstream(asking);
      const kept = await callTimes(milliseconds, () => stream.publish(SUBJECT, HUNDRED_EVENTS));
      return [
        { name: 'NATS request, one at a time, p50', unit: 'ms', here: trip.middle, there: 0.08 },
        {
          name: 'JetStream publish of 100 events, synced, p50',
          unit: 'ms',
          here: kept.middle,
          there: 0.78,
          p99: kept.p99,
        },
      ];
    } finally {
      await manager.streams.delete(STREAM);
    }
  } finally {
    await Promise.all([asking.close(), answering.close()]);
  }
}
