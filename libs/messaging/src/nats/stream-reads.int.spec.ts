import { agentEvents } from '@agentlens/contracts';
import { aBatch } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import type { JetStreamClient } from '@nats-io/jetstream';
import { natsPerTest } from './nats-per-test.testing.ts';
import { readEnvelopes } from './stream-reads.ts';

const STREAM = 'AGENT_EVENTS';
const FILTER = agentEvents.pattern();

/** A consumer on a replica of the stream that has none of the requested messages. */
const EMPTY_COPY = {
  consumers: { get: async () => ({ info: async () => ({ num_pending: 0 }), delete: async () => true }) },
} as unknown as JetStreamClient;

describe('readEnvelopes', () => {
  const { open, manager } = natsPerTest();

  it('skips deleted messages', async () => {
    const bus = await open();
    for (let n = 0; n < 3; n++) await bus.publish(agentEvents, aBatch());
    await (await manager()).streams.purge(STREAM, { seq: 4 });

    expect(await bus.envelopes(agentEvents, 0, 10)).toEqual({ envelopes: [], scanned: 0, upTo: 3, newest: 3 });
  });

  it('does not report messages as deleted that a lagging replica has not received yet', async () => {
    const bus = await open();
    for (let n = 0; n < 3; n++) await bus.publish(agentEvents, aBatch());
    const streams = await manager();
    const source = { client: EMPTY_COPY, manager: streams, stream: STREAM, filter: FILTER };

    await expect(readEnvelopes(source, 1, 10)).rejects.toThrow('is lagging');
    await streams.streams.purge(STREAM, { seq: 4 });
    expect(await readEnvelopes(source, 1, 10)).toMatchObject({ scanned: 0, upTo: 3 });
  });
});
