import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';

let api: OperatorApi;

const wait = (kind: string, entryId: string, fields: object) =>
  api.insert('log_pending', { tenant_id: 'acme', kind, entry_id: entryId, at: NOW, ...fields });

/** Nothing seals here, so what waits for the log goes on waiting. */
beforeAll(async () => {
  api = await startOperatorApi();
  await wait('decision', 'd1', { run_id: 'r1' });
  await wait('approval', 'x1', { run_id: 'r2', payload: { approvalId: 'a1', status: 'open' } });
  await wait('control', 'x2', { payload: { orderId: 'o1', state: 'killed' } });
  await wait('ack', 'x3', { payload: { directiveId: 'o2', instanceId: 'one' } });
});
afterAll(() => api.close());

describe('evidence about facts that wait for the log', () => {
  it.each(['runs/r1', 'runs/r2', 'decisions/d1', 'approvals/a1', 'control/o1', 'control/o2'])(
    'of %s does not exist yet',
    async (subject) => {
      const { status, body, headers } = await api.get(`/api/${subject}/evidence`);
      expect({ status, code: body.code }).toEqual({ status: 409, code: 'not_sealed' });
      expect(headers['retry-after']).toBe('1');
    },
  );

  it.each(['runs/r3', 'decisions/d2', 'approvals/a2', 'control/o3'])(
    'of %s does not exist, and the answer says what the log contains',
    async (subject) => {
      const { status, body } = await api.get(`/api/${subject}/evidence`);
      expect(status).toBe(404);
      expect(body.error).toBe('Evidence not found');
      expect(body.hint).toMatch(/^The log has nothing about this (run|decision|approval|order)\. It records decisions/);
    },
  );

  it('is not of another tenant', async () => {
    expect((await api.get('/api/runs/r1/evidence', api.keys.foreign.key)).status).toBe(404);
  });

  it('will not come if sealing has stopped, and the answer says why', async () => {
    await api.insert('log_heads', { tenant_id: 'acme', log_id: 'log', broken: 'entry 3 has changed' });
    const { status, body } = await api.get('/api/runs/r1/evidence');
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'conflict' });
    expect(body.error).toContain('entry 3 has changed');
  });
});
