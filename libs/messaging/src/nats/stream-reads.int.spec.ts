import { agentEvents } from '@agentlens/contracts';
import { aBatch } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import type { JetStreamClient } from '@nats-io/jetstream';
import { natsOfItsOwn } from './nats-of-its-own.testing.ts';
import { readEnvelopes } from './stream-reads.ts';

const STREAM = 'AGENT_EVENTS';
const FILTER = agentEvents.pattern();

/** A consumer on a copy of the stream that has nothing of what was asked for. */
const EMPTY_COPY = {
  consumers: { get: async () => ({ info: async () => ({ num_pending: 0 }), delete: async () => true }) },
} as unknown as JetStreamClient;

describe('a page of envelopes', () => {
  const { open, manager } = natsOfItsOwn();

  it('passes over messages that are gone', async () => {
    const bus = await open();
    for (let n = 0; n < 3; n++) await bus.publish(agentEvents, aBatch());
    await (await manager()).streams.purge(STREAM, { seq: 4 });

    expect(await bus.envelopes(agentEvents, 0, 10)).toEqual({ envelopes: [], scanned: 0, upTo: 3, newest: 3 });
  });

  it('takes nothing for gone that only the copy that answers does not have yet', async () => {
    const bus = await open();
    for (let n = 0; n < 3; n++) await bus.publish(agentEvents, aBatch());
    const streams = await manager();
    const source = { client: EMPTY_COPY, manager: streams, stream: STREAM, filter: FILTER };

    await expect(readEnvelopes(source, 1, 10)).rejects.toThrow('is not in step');
    await streams.streams.purge(STREAM, { seq: 4 });
    expect(await readEnvelopes(source, 1, 10)).toMatchObject({ scanned: 0, upTo: 3 });
  });
});
