import { describe, expect, it } from '@jest/globals';
import { eventBatchFacts, eventBatchHeaders } from './event-batch-facts.ts';

describe('facts of a batch', () => {
  it('are read from its headers as they were written', () => {
    const times = ['2026-03-02T00:00:00.000Z', '2026-03-01T23:59:59.999Z', '2026-03-02T12:00:00.000Z'];
    const headers = eventBatchHeaders({ events: times.map((occurredAt) => ({ occurredAt })) });
    expect(headers).toEqual({ 'agentlens-events': '3', 'agentlens-days': '2026-03-01,2026-03-02' });
    expect(eventBatchFacts(headers)).toEqual({ events: 3, days: ['2026-03-01', '2026-03-02'] });
  });

  it.each([
    ['no headers', {}],
    ['no days', { 'agentlens-events': '3' }],
    ['an empty batch', { 'agentlens-events': '0', 'agentlens-days': '2026-03-01' }],
    ['a count that is none', { 'agentlens-events': '3x', 'agentlens-days': '2026-03-01' }],
    ['days that are none', { 'agentlens-events': '3', 'agentlens-days': "2026-03-01'; drop" }],
  ])('are unknown where there are %s', (_what, headers) => {
    expect(eventBatchFacts(headers)).toBeUndefined();
  });
});
