import { createHmac } from 'node:crypto';
import { BUNDLE_KEY_LABEL, COMMANDS, controlOrdered, type RuleBundle } from '@agentlens/contracts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { anOrder, type Protocol, QUESTION, RUN, startProtocol } from './agent-protocol.ts';

let protocol: Protocol;
beforeEach(async () => {
  protocol = await startProtocol();
});
afterEach(() => protocol.close());

describe('keys', () => {
  const calls = [
    ['POST', '/v1/agents'],
    ['PUT', '/v1/agents/bot/tools'],
    ['POST', `/v1/runs/${RUN}/start`],
    ['POST', `/v1/runs/${RUN}/evaluate`],
    ['POST', `/v1/runs/${RUN}/end`],
    ['POST', `/v1/runs/${RUN}/heartbeat`],
    ['POST', '/v1/runs/events'],
    ['GET', '/v1/control/stream?agentId=bot'],
    ['GET', '/v1/control/poll?agentId=bot'],
    ['POST', '/v1/control/d1/ack'],
    ['GET', '/v1/rules/bundle?agentId=bot'],
  ] as const;

  it.each(calls)('%s %s requires a key of the right scope that is not revoked', async (method, path) => {
    const { gateway } = protocol;
    const call: Protocol['call'] = (...args) => protocol.call(...args);
    expect((await gateway.inject({ method, url: path })).status).toBe(401);
    expect((await call(method, path, method === 'GET' ? undefined : {}, { key: gateway.keys.revoked })).status).toBe(
      401,
    );
    expect((await call(method, path, method === 'GET' ? undefined : {}, { key: gateway.keys.reader })).status).toBe(
      403,
    );
  });

  it('separate tenants: an order in one does not affect the other', async () => {
    await protocol.gateway.bus.publish(controlOrdered, anOrder());
    const { foreign } = protocol.gateway.keys;
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/start`, { agentId: 'bot' }, { key: foreign });
    expect(answer.body.lockdown).toEqual({ active: false });
    await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, QUESTION, { key: foreign });
    expect(protocol.asked[0]?.tenantId).toBe('globex');
  });
});

describe('importing a policy', () => {
  const policy = { policy: { name: 'p', mode: 'enforce' }, rules: [] };
  const send = (path: string, body: unknown = policy, key = protocol.gateway.keys.admin) =>
    protocol.call('POST', path, body, { key });

  it('passes it to the owner of the rules, with or without a trailing slash', async () => {
    const asked: unknown[] = [];
    await protocol.gateway.bus.serve(COMMANDS.importPolicy, async (question) => {
      asked.push(question);
      return { ok: true as const, value: { policyId: 'p1', rules: [] } };
    });
    for (const path of ['/v1/rules', '/v1/rules/']) {
      expect(await send(path)).toMatchObject({ status: 201, body: { policyId: 'p1', rules: [] } });
    }
    expect(asked).toEqual([
      { tenantId: 'acme', body: policy, by: 'admin', author: { keyId: 'admin', keyName: 'admin' } },
      { tenantId: 'acme', body: policy, by: 'admin', author: { keyId: 'admin', keyName: 'admin' } },
    ]);
  });

  it('returns the rejection of the owner', async () => {
    const problem = { error: 'Validation failed', status: 400, details: [{ path: 'policy.name', message: 'missing' }] };
    await protocol.gateway.bus.serve(COMMANDS.importPolicy, async () => ({ ok: false as const, problem }));
    expect(await send('/v1/rules', {})).toMatchObject({ status: 400, body: problem });
  });

  it('requires the admin scope, and returns 503 while the owner is unavailable', async () => {
    expect((await send('/v1/rules', policy, protocol.gateway.keys.agent)).status).toBe(403);
    expect((await send('/v1/rules')).status).toBe(503);
  });
});

describe('the rule bundle', () => {
  it('is signed with a key derived from the requesting API key', async () => {
    const bundle: RuleBundle = { agentId: 'bot', version: 3, ttlSeconds: 60, askAlways: ['tool.before'], rules: [] };
    await protocol.gateway.bus.serve(COMMANDS.ruleBundle, async ({ agentId }) =>
      agentId === 'bot'
        ? { ok: true as const, value: bundle }
        : { ok: false as const, problem: { error: 'Agent not found', status: 404 } },
    );
    const { body } = await protocol.call('GET', '/v1/rules/bundle?agentId=bot');
    expect(JSON.parse(body.payload)).toEqual(bundle);
    const secret = createHmac('sha256', protocol.gateway.keys.agent).update(BUNDLE_KEY_LABEL).digest();
    expect(body.signature).toBe(createHmac('sha256', secret).update(body.payload).digest('hex'));
    expect((await protocol.call('GET', '/v1/rules/bundle?agentId=other')).status).toBe(404);
    expect((await protocol.call('GET', '/v1/rules/bundle')).status).toBe(400);
  });

  it('is not sent again to a client that has the same content, regardless of its version', async () => {
    let bundle: RuleBundle = { agentId: 'bot', version: 3, ttlSeconds: 60, askAlways: [], rules: [] };
    await protocol.gateway.bus.serve(COMMANDS.ruleBundle, async () => ({ ok: true as const, value: bundle }));
    const ask = (held: string) =>
      protocol.call('GET', '/v1/rules/bundle?agentId=bot', undefined, { headers: { 'if-none-match': held } });
    const { headers } = await protocol.call('GET', '/v1/rules/bundle?agentId=bot');
    const tag = String(headers.etag);
    bundle = { ...bundle, version: 4 };
    for (const held of [tag, `"other", ${tag.slice(2)}`, '*']) {
      const { status, body, headers: answered } = await ask(held);
      expect([status, body, answered.etag]).toEqual([304, undefined, tag]);
    }
    expect((await ask('"other"')).status).toBe(200);
    bundle = { ...bundle, askAlways: ['llm.before'] };
    const changed = await ask(tag);
    expect(changed.status).toBe(200);
    expect(JSON.parse(changed.body.payload)).toEqual(bundle);
    expect(changed.headers.etag).not.toBe(tag);
  });

  it('is a 404 problem if it does not exist, so that the client asks the server', async () => {
    const answer = await protocol.call('GET', '/v1/rules/bundle?agentId=bot');
    expect(answer).toMatchObject({ status: 404, body: { error: 'No rule bundle', status: 404 } });
  });
});
