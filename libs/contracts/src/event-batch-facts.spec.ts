import { describe, expect, it } from '@jest/globals';
import { eventBatchFacts, eventBatchHeaders, factsOfBatch, factsOfMessage } from './event-batch-facts.ts';

const receivedAt = '2026-03-02T12:00:01.000Z';
const whole = { 'agentlens-events': '3', 'agentlens-days': '2026-03-01', 'agentlens-received-at': receivedAt };

describe('facts of a batch', () => {
  it('are read from the headers that were written', () => {
    const times = ['2026-03-02T00:00:00.000Z', '2026-03-01T23:59:59.999Z', '2026-03-02T12:00:00.000Z'];
    const headers = eventBatchHeaders(
      factsOfBatch({ receivedAt, events: times.map((occurredAt) => ({ occurredAt })) }),
    );
    expect(headers).toEqual({ ...whole, 'agentlens-days': '2026-03-01,2026-03-02' });
    expect(eventBatchFacts(headers)).toEqual({ events: 3, days: ['2026-03-01', '2026-03-02'], receivedAt });
  });

  it.each([
    ['no headers', {}],
    ['no days', { ...whole, 'agentlens-days': '' }],
    ['no time of arrival', { ...whole, 'agentlens-received-at': '' }],
    ['an empty batch', { ...whole, 'agentlens-events': '0' }],
    ['an invalid count', { ...whole, 'agentlens-events': '3x' }],
    ['invalid days', { ...whole, 'agentlens-days': "2026-03-01'; drop" }],
  ])('are unknown with %s', (_what, headers) => {
    expect(eventBatchFacts(headers)).toBeUndefined();
  });

  it('come from the headers without reading the batch', () => {
    const message = {
      headers: whole,
      get value(): never {
        throw new Error('read');
      },
    };
    expect(factsOfMessage(message)).toMatchObject({ events: 3, days: ['2026-03-01'] });
  });

  it('come from the batch if the headers lack them', () => {
    const times = ['2026-03-02T00:00:00.000Z', '2026-03-01T23:59:59.999Z', '2026-03-02T12:00:00.000Z'];
    const value = { events: times.map((occurredAt) => ({ occurredAt })) };
    expect(factsOfMessage({ headers: {}, value })).toEqual({ events: 3, days: ['2026-03-02', '2026-03-01'] });
  });
});
