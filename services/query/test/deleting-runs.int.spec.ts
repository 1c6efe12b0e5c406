import { COMMANDS } from '@agentlens/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { granted, NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { anOrderRow, aRunRow } from './rows.ts';

describe('DELETE /api/runs/:id', () => {
  let api: OperatorApi;
  const asked: object[] = [];
  const minutesAgo = (minutes: number) => new Date(Date.parse(NOW) - minutes * 60_000).toISOString();

  beforeAll(async () => {
    api = await startOperatorApi();
    await api.bus.serve(COMMANDS.deleteRun, async (question) => {
      asked.push(question);
      return granted({ id: question.runId, deletedAt: NOW, complete: true });
    });
    const running = { status: 'running', ended_at: null, last_event_at: minutesAgo(1) };
    await api.insert('runs', aRunRow({ run_id: 'running', ...running }));
    await api.insert('runs', aRunRow({ run_id: 'beats', ...running, last_event_at: minutesAgo(9), heartbeat_at: NOW }));
    await api.insert('runs', aRunRow({ run_id: 'killed', ...running }));
    await api.insert('control_orders', anOrderRow({ scope: 'run', scope_id: 'killed', state: 'killed' }));
    await api.insert('runs', aRunRow({ run_id: 'idle', ...running, last_event_at: minutesAgo(6) }));
    await api.insert('runs', aRunRow({ run_id: 'ended', status: 'succeeded', last_event_at: minutesAgo(1) }));
  });
  afterAll(() => api.close());

  it.each(['running', 'beats'])('returns 409 while the run is %s', async (id) => {
    expect(await api.call('DELETE', `/api/runs/${id}`)).toMatchObject({
      status: 409,
      body: { hint: expect.any(String) },
    });
    expect(asked).toEqual([]);
  });

  it.each(['killed', 'idle', 'ended'])('is forwarded to the owner if the run is %s', async (id) => {
    const answer = await api.call('DELETE', `/api/runs/${id}?reason=asked`);

    expect(answer).toMatchObject({ status: 200, body: { id, deletedAt: NOW, complete: true } });
    const author = { keyId: api.keys.admin.id, keyName: 'admin' };
    expect(asked.splice(0)).toEqual([{ tenantId: 'acme', runId: id, author, reason: 'asked' }]);
  });

  it('requires an admin key', async () => {
    expect(await api.call('DELETE', '/api/runs/ended', { key: api.keys.reader.key })).toMatchObject({ status: 403 });
  });
});
