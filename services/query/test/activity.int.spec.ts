import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';
import { anActivityRow } from './rows.ts';

let api: OperatorApi;

beforeAll(async () => {
  api = await startOperatorApi();
  const at = (minute: string, fields = {}) =>
    anActivityRow({ grain: 'minute', bucket: `2026-03-01T${minute}:00Z`, ...fields });
  await api.insert('activity', at('11:30'));
  await api.insert('activity', at('11:30', { agent_id: 'agent-2', latency_counts: [0, 0, 8] }));
  await api.insert('activity', at('11:31'));
  await api.insert('activity', at('11:30', { tenant_id: 'globex', event_count: 1000 }));
  await api.insert('activity', anActivityRow({ grain: 'hour', bucket: '2026-02-20T10:00:00Z', event_count: 7 }));
});
afterAll(() => api.close());

const read = async (query: string) => (await api.get(`/api/activity?${query}`)).body;

describe('activity over time', () => {
  it('sums agents and leaves empty buckets and other tenants out', async () => {
    const { buckets, stepMs } = await read('from=2026-03-01T11:00:00Z&to=2026-03-01T12:00:00Z');
    expect(stepMs).toBe(60_000);
    expect(buckets).toMatchObject([
      { at: '2026-03-01T11:30:00.000Z', events: 20, errors: 2, costUsd: 1, decisions: 16, blocked: 4 },
      { at: '2026-03-01T11:31:00.000Z', events: 10, decisions: 8 },
    ]);
    expect(buckets[1]).toMatchObject({ latencyP50Ms: 0.25 + 0.25 / 2 });
  });

  it('reads one agent, in wider buckets', async () => {
    const { buckets } = await read('from=2026-03-01T11:00:00Z&to=2026-03-01T12:00:00Z&agentId=agent-1&step=5m');
    expect(buckets).toMatchObject([{ at: '2026-03-01T11:30:00.000Z', events: 20 }]);
  });

  it('reads hours where minutes are not kept', async () => {
    const { buckets, stepMs } = await read('from=2026-02-20T00:00:00Z&to=2026-02-20T12:00:00Z');
    expect(stepMs).toBe(3_600_000);
    expect(buckets).toMatchObject([{ at: '2026-02-20T10:00:00.000Z', events: 7 }]);
  });

  it.each([
    ['from=2026-02-20T00:00:00Z&to=2026-02-20T12:00:00Z&step=1m', 'step', 'must be at least 1h'],
    ['range=365d&step=1h', 'step', 'more than 1500 buckets'],
    ['step=2m', 'step', 'must be one of'],
  ])('rejects %s', async (query, path, message) => {
    const { status, body } = await api.get(`/api/activity?${query}`);
    expect(status).toBe(400);
    expect(body.details).toEqual([{ path, message: expect.stringContaining(message) }]);
  });
});
