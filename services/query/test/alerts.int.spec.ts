import { type Alert, alertChanged, COMMANDS, otherVersion, type Problem } from '@agentlens/contracts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { granted, NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { anAlertRow } from './rows.ts';
import { readStream, type StreamReader } from './stream-reader.ts';

let api: OperatorApi;
let address: string;
const asked: object[] = [];
const open: StreamReader[] = [];
let refusal: Problem | undefined;

beforeAll(async () => {
  api = await startOperatorApi();
  await api.app.listen(0, '127.0.0.1');
  address = await api.app.getUrl();
  for (let n = 1; n <= 5; n++) {
    await api.insert(
      'alerts',
      anAlertRow({
        alert_id: `alert-${n}`,
        kind: n === 5 ? 'breaker' : 'approval',
        status: n === 1 ? 'denied' : 'pending',
        agent_id: n % 2 === 0 ? 'even' : 'odd',
        run_id: `run-${n}`,
        binding: `binding-${n}`,
        created_at: `2026-03-01T12:0${n}:00.000Z`,
      }),
    );
  }
  await api.bus.serve(COMMANDS.decideAlert, async (question) => {
    asked.push(question);
    if (refusal !== undefined) return { ok: false, problem: refusal };
    return granted(await alertOf(question.alertId));
  });
});
afterAll(() => api.close());
beforeEach(() => {
  asked.length = 0;
  refusal = undefined;
});
afterEach(() => {
  for (const reader of open.splice(0)) reader.close();
});

const alertOf = async (id: string): Promise<Alert> => (await api.get(`/api/alerts/${id}`)).body;
const idsOf = async (query: string) =>
  (await api.get(`/api/alerts?${query}`)).body.alerts.map(({ id }: Alert) => Number(id.replace('alert-', '')));

describe('the call behind an approval', () => {
  const seal = (alertId: string, call: object) =>
    api.platform.secrets.seal(JSON.stringify(call), ['acme', 'approval_calls', alertId]);

  it('is returned in full to keys that may decide, and withheld from keys that may only read', async () => {
    const call = { arguments: '{"amount":9007199254740993}', cut: 'too large' };
    const row = { tenant_id: 'acme', alert_id: 'alert-3', cut: 'too large', created_at: NOW };
    await api.insert('approval_calls', { ...row, sealed: seal('alert-3', call) });
    const reviewer = await api.newKey(['review']);
    expect(await api.get('/api/alerts/alert-3/call', reviewer.key)).toMatchObject({
      ...{ status: 200, body: { alertId: 'alert-3', toolName: 'pay', argsHash: 'a', ...call } },
    });
    expect((await api.get('/api/alerts/alert-3/call', api.keys.reader.key)).status).toBe(403);
    expect((await api.get('/api/alerts/alert-3/call', api.keys.foreign.key)).status).toBe(404);
    expect((await api.get('/api/alerts/alert-5/call')).status).toBe(404);
  });

  it('can be read together with its alerts by a key that may decide', async () => {
    const reviewer = await api.newKey(['review']);
    expect((await api.get('/api/alerts', reviewer.key)).status).toBe(200);
    expect((await api.get('/api/alerts/alert-2', reviewer.key)).status).toBe(200);
    expect((await api.get('/api/runs', reviewer.key)).status).toBe(403);
  });
});

describe('the list of alerts', () => {
  it.each([
    ['', [5, 4, 3, 2, 1]],
    ['status=denied', [1]],
    ['status=pending,denied&kind=approval', [4, 3, 2, 1]],
    ['kind=breaker', [5]],
    ['agentId=even', [4, 2]],
    ['runId=run-3', [3]],
    ['ruleId=other', []],
    ['from=2026-03-01T12:02:00Z&to=2026-03-01T12:04:00Z', [4, 3, 2]],
    ['limit=2&offset=2', [3, 2]],
  ])('with "%s" holds %j', async (query, ids) => expect(await idsOf(query)).toEqual(ids));

  it('is paged without gap or repetition', async () => {
    const { body: first } = await api.get('/api/alerts?limit=3');
    expect(first.hasMore).toBe(true);
    const { body: rest } = await api.get(`/api/alerts?limit=3&cursor=${first.nextCursor}`);
    expect([...first.alerts, ...rest.alerts].map(({ id }: Alert) => id)).toHaveLength(5);
    expect(rest.hasMore).toBe(false);
  });
});

describe('deciding', () => {
  const decide = (verb: string, key: string, body?: unknown) =>
    api.call('POST', `/api/alerts/alert-2/${verb}`, { key, body });

  it.each(['acknowledge', 'approve', 'deny', 'cancel'])(
    '%s is forwarded to the owner, signed with the key',
    async (verb) => {
      const { id, key } = await api.newKey(['read', 'review']);
      const answer = await decide(verb, key, { reason: 'looked at it' });
      expect(answer).toMatchObject({ status: 200, body: { id: 'alert-2' } });
      const author = { keyId: id, keyName: 'read,review' };
      expect(asked).toEqual([
        {
          ...{ tenantId: 'acme', alertId: 'alert-2', verb, by: `read,review (${id})`, reason: 'looked at it', author },
          voter: { keyId: id, isAgent: false, via: 'api' },
        },
      ]);
    },
  );

  it('needs no body', async () => {
    const { key } = await api.newKey(['review']);
    expect((await decide('approve', key)).status).toBe(200);
    expect((await decide('approve', api.keys.admin.key, {})).status).toBe(200);
  });

  it.each([
    [['ingest']],
    [['decide']],
    [['ingest', 'decide', 'read']],
    [['read']],
    [['review', 'ingest']],
    [['review', 'decide']],
  ])('is forbidden for a key with %j, without asking the owner', async (scopes) => {
    const { key } = await api.newKey(scopes as ['read']);
    for (const verb of ['acknowledge', 'approve', 'deny', 'cancel']) {
      expect(await decide(verb, key)).toMatchObject({ status: 403, body: { required: ['review'] } });
    }
    expect(asked).toEqual([]);
  });

  it('passes on the expected version and returns the next one', async () => {
    const { headers } = await api.get('/api/alerts/alert-3');
    expect(headers.etag).toMatch(/^"\d+"$/);
    const sent = { body: {}, headers: { 'if-match': '"4"' } };
    const answer = await api.call('POST', '/api/alerts/alert-3/approve', sent);
    expect(answer).toMatchObject({ status: 200, headers: { etag: headers.etag } });
    expect(asked).toMatchObject([{ alertId: 'alert-3', verb: 'approve', ifVersion: 4 }]);
    refusal = otherVersion('alert', 4, 5).problem;
    expect(await api.call('POST', '/api/alerts/alert-3/deny', sent)).toMatchObject({
      status: 412,
      headers: { etag: '"5"' },
      body: { code: 'version_conflict', currentVersion: 5 },
    });
  });

  it('reports who decided first if it is too late', async () => {
    refusal = { status: 409, error: 'Alert is approved already', hint: 'Decided by ann; the first decision stands.' };
    expect(await decide('deny', api.keys.admin.key)).toMatchObject({
      status: 409,
      body: { error: 'Alert is approved already', hint: expect.stringContaining('ann') },
    });
  });

  it.each([{ reason: 'x'.repeat(1_001) }, { reason: 5 }, { because: 'typo' }, [], 'approve'])(
    'rejects the body %j',
    async (body) => {
      expect((await decide('approve', api.keys.admin.key, body)).status).toBe(400);
      expect(asked).toEqual([]);
    },
  );
});

describe('the stream of alerts', () => {
  async function connect(query = '', lastEventId?: string): Promise<StreamReader> {
    const headers: Record<string, string> = { authorization: `Bearer ${api.keys.reader.key}` };
    if (lastEventId !== undefined) headers['last-event-id'] = lastEventId;
    const reader = await readStream(`${address}/api/alerts/stream?${query}`, headers);
    open.push(reader);
    await reader.until('heartbeat');
    return reader;
  }
  let version = 1;
  const publish = async (fields: Partial<Alert> = {}) => {
    version += 1;
    await api.bus.publish(alertChanged, { ...(await alertOf('alert-3')), version, ...fields });
  };
  const versions = (reader: StreamReader) =>
    reader.frames.filter(({ event }) => event === 'alert').map(({ data }) => data.version);

  it('starts now and shows every change in full, of its own tenant only', async () => {
    await publish();
    const reader = await connect();
    await publish({ tenantId: 'globex' });
    await publish({ status: 'approved', decidedBy: 'ann', decidedAt: NOW });
    const [frame] = await reader.until('alert');
    expect(frame?.data).toMatchObject({ id: 'alert-3', tenantId: 'acme', status: 'approved', decidedBy: 'ann' });
    expect(versions(reader)).toHaveLength(1);
  });

  it('resumes without gap or repetition, even from a heartbeat', async () => {
    const first = await connect();
    const [heartbeat] = await first.until('heartbeat');
    await publish();
    const [seen] = await first.until('alert');
    first.close();
    await publish();
    expect(versions(await connectUntil(heartbeat?.id, 2))).toEqual([version - 1, version]);
    expect(versions(await connectUntil(seen?.id, 1))).toEqual([version]);
  });

  async function connectUntil(lastEventId: string | undefined, count: number): Promise<StreamReader> {
    const reader = await connect('', lastEventId);
    await reader.until('alert', count);
    return reader;
  }

  it('is filtered by kind, status, agent and run', async () => {
    const reader = await connect('kind=approval&status=denied&agentId=odd&runId=run-3');
    const right = { status: 'denied' } as const;
    await publish({ ...right, kind: 'breaker' });
    await publish();
    await publish({ ...right, agentId: 'other' });
    await publish({ ...right, runId: 'other' });
    await publish(right);
    await reader.until('alert');
    expect(versions(reader)).toEqual([version]);
  });

  it('answers HEAD at once', async () => {
    const answer = await fetch(`${address}/api/alerts/stream?token=${api.keys.reader.key}`, { method: 'HEAD' });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });
});
