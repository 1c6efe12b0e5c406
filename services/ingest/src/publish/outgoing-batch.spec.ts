import { agentEvents, factsOfBatch } from '@agentlens/contracts';
import { encodeMessage } from '@agentlens/messaging';
import { aBatch, anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { outgoing } from './messages.ts';

describe('an outgoing batch', () => {
  it('is published as the bus would publish the batch', () => {
    const batch = aBatch({
      events: [anEvent({ agentName: 'Zoë' }), anEvent({ occurredAt: '2026-02-27T23:59:59.999Z' })],
    });
    const texts = batch.events.map((event) => JSON.stringify(event));
    const label = { ...batch, ...factsOfBatch(batch) };
    const { tenantId, events, message } = outgoing(label, texts, Buffer.byteLength(`${texts.join()},`));

    const { body, ...whole } = encodeMessage(agentEvents, batch);
    expect({ tenantId, events }).toEqual({ tenantId: batch.tenantId, events: 2 });
    expect(message).toMatchObject(whole);
    expect(JSON.parse(Buffer.from(message.body).toString('utf8'))).toEqual(
      JSON.parse(Buffer.from(body).toString('utf8')),
    );
  });
});
