import { COMMANDS } from '@agentlens/contracts';
import { QUERY_OPERATIONS } from '@agentlens/operations';
import { aRule } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { granted, type OperatorApi, startOperatorApi } from './operator-api.ts';

let api: OperatorApi;
let made = 0;
let hold: Promise<void> | undefined;
let heard: (() => void) | undefined;

beforeAll(async () => {
  api = await startOperatorApi();
});
afterAll(() => api.close());

const under = (key: string) => ({ headers: { 'idempotency-key': key } });
const makeKey = (key: string, name: string, as?: string) =>
  api.call('POST', '/api/keys', { ...under(key), body: { name, scopes: ['read'] }, ...(as && { key: as }) });
const makeRule = (key: string) => api.call('POST', '/api/guardrails', { ...under(key), body: { name: 'r' } });
const keysNamed = async (name: string) =>
  (await api.get('/api/keys')).body.keys.filter((key: { name: string }) => key.name === name);

async function serveRules() {
  return api.bus.serve(COMMANDS.createRule, async () => {
    made += 1;
    heard?.();
    await hold;
    return granted(aRule({ id: `rule-${made}`, tenantId: 'acme' }));
  });
}

describe('a change with an Idempotency-Key', () => {
  it('runs once, and repeats the response including the secret that is shown once', async () => {
    const first = await makeKey('k1', 'once');
    const again = await makeKey('k1', 'once');
    expect(first).toMatchObject({ status: 201, body: { key: expect.stringContaining('agk_') } });
    expect(again).toMatchObject({ status: 201, body: first.body, headers: { 'idempotency-replayed': 'true' } });
    expect(await keysNamed('once')).toHaveLength(1);
    const kept = await api.platform.idempotency.begin('acme', 'k1', { requestHash: '', startedAtMs: 0 });
    expect(kept?.result).toMatchObject({ kind: 'answered', answer: expect.stringMatching(/^sealed:/) });
  });

  it('is a separate change for another tenant', async () => {
    await makeKey('k2', 'theirs', api.keys.foreign.key);
    expect((await makeKey('k2', 'ours')).status).toBe(201);
    expect(await keysNamed('ours')).toHaveLength(1);
  });

  it('is rejected if the key was used for another request or by another caller', async () => {
    await makeKey('k3', 'one');
    const colleague = await api.newKey(['admin']);
    for (const other of [await makeKey('k3', 'two'), await makeKey('k3', 'one', colleague.key)]) {
      expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused', hint: expect.any(String) } });
    }
    expect(await keysNamed('two')).toEqual([]);
  });

  it('can be retried if it was rejected', async () => {
    expect((await makeKey('k4', ' ')).status).toBe(400);
    expect((await makeKey('k4', 'good')).status).toBe(201);
    const body = { id: 'acme', name: 'there already' };
    expect((await api.call('POST', '/api/tenants', { ...under('k5'), body })).status).toBe(409);
    expect((await api.call('POST', '/api/tenants', { ...under('k5'), body: { id: 'new-one' } })).status).toBe(201);
  });

  it('waits while the first request is in progress, and keeps its ETag', async () => {
    const gate = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    [hold, heard] = [gate.promise, asked.resolve];
    const owner = await serveRules();
    const first = makeRule('k6');
    await asked.promise;
    expect(await makeRule('k6')).toMatchObject({
      status: 409,
      body: { code: 'request_in_flight' },
      headers: { 'retry-after': '2' },
    });
    gate.resolve();
    const answer = await first;
    const again = await makeRule('k6');
    expect(again.body).toEqual(answer.body);
    expect(again.headers.etag).toBe(answer.headers.etag);
    expect(made).toBe(1);
    await owner.close();
  });

  it('can be retried if no owner received it, but not if its outcome is unknown', async () => {
    hold = undefined;
    expect(await makeRule('k7')).toMatchObject({ status: 503, body: { hint: expect.stringContaining('Nothing was') } });
    const owner = await serveRules();
    expect((await makeRule('k7')).status).toBe(201);
    await owner.close();

    const broken = await api.bus.serve(COMMANDS.createRule, () => Promise.reject(new Error('after the commit')));
    expect((await makeRule('k8')).status).toBe(500);
    await broken.close();
    expect(await makeRule('k8')).toMatchObject({ status: 409, body: { code: 'result_unknown' } });
  });

  it('has an unknown outcome if its process did not finish within a minute', async () => {
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    [hold, heard] = [gate.promise, asked.resolve];
    const owner = await serveRules();
    const lost = makeRule('k9');
    await asked.promise;
    api.clock.advance(60_000);
    expect(await makeRule('k9')).toMatchObject({ status: 409, body: { code: 'result_unknown' } });
    gate.resolve();
    await lost;
    await owner.close();
  });

  it('requires a key of printable characters', async () => {
    const answer = await makeKey('k\u00e9y', 'never');
    expect(answer).toMatchObject({ status: 400, body: { details: [{ path: 'headers.idempotency-key' }] } });
  });
});

describe('the operations', () => {
  /** These change nothing, need no API key, or end what has ended. */
  const WITHOUT = [
    ...['checkInvoice', 'collectLogin', 'confirmLogin', 'createSession', 'endOwnSessions', 'endPersonSessions'],
    ...['endProviderSessions', 'explainApprovalPolicy', 'explainRoutes', 'planRuleset', 'takeSlackClick'],
    ...['testIdentityProvider', 'testModelConnection', 'testRule', 'validateRule', 'verifyLog'],
  ];

  it('document an Idempotency-Key on every POST that changes something', async () => {
    const posts = QUERY_OPERATIONS.filter(({ method }) => method === 'post');
    expect(
      posts
        .filter(({ once }) => once !== true)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(WITHOUT);
    const { paths } = (await api.get('/openapi.json')).body;
    for (const { path, once } of posts) {
      const { parameters, responses } = paths[path.replaceAll(/:(\w+)/g, '{$1}')].post;
      const names = parameters.map(({ name }: { name: string }) => name);
      expect(names.includes('idempotency-key')).toBe(once === true);
      if (once) expect(Object.keys(responses)).toEqual(expect.arrayContaining(['409', '422']));
    }
  });
});
