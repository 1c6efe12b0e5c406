import { eventually, SAID, say } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import type { Client } from './client.ts';
import { DIALECTS, type GatewayWorld, REFUSED } from './model-gateway-world.ts';

/** Rules about complete answers. */
export function describeAnswerRules(world: GatewayWorld): void {
  const { newTenant, call } = world;

  const addRule = async (admin: Client, expression: string) => {
    const created = await admin.post('/api/guardrails', {
      ...{ name: 'Short answers', conditionType: 'expression', actionType: 'block', mode: 'enforce' },
      ...{ conditionConfig: { expression }, actionConfig: { message: 'Too long' } },
      selector: { phases: ['llm.after'] },
    });
    expect({ ...created.body, status: created.status }).toMatchObject({ status: 201 });
  };
  const sayLong = () => world.provider.answer(say({ ...SAID, outputTokens: 700 }));

  describe.each(DIALECTS)('a rule about answers of %s', (dialect) => {
    it('withholds a whole answer, which is charged, and lets the others pass', async () => {
      const { admin, key } = await newTenant();
      await addRule(admin, 'result.outputTokens > 500 && args.request.streamed == false');
      sayLong();
      await eventually(async () => {
        const refused = await call(dialect, key, { headers: { 'x-agentlens-run': 'run-long' } });
        const text = await refused.text();
        expect([refused.status, text]).toEqual([REFUSED[dialect].policy, expect.stringContaining('Too long')]);
        expect(text).not.toContain('42');
        expect(refused.headers.get('x-should-retry')).toBe('false');
      });
      await eventually(async () => {
        const { body } = await admin.get('/api/model-calls?runId=run-long');
        expect(body.calls[0]).toMatchObject({ outcome: 'stopped', outputTokens: 700, costUsd: expect.any(Number) });
        expect(body.calls[0].stopReason).toContain('Too long');
        const { decisions } = (await admin.get('/api/decisions?agentId=bot&phase=llm.after&verdict=BLOCK')).body;
        expect(decisions[0]).toMatchObject({ phase: 'llm.after', verdict: 'BLOCK', callId: body.calls[0].id });
      });
      world.provider.answer(say(SAID));
      const short = await call(dialect, key, { headers: { 'x-agentlens-run': 'run-long' } });
      expect([short.status, await short.text()]).toEqual([200, expect.stringContaining('42')]);
    });

    it('lets a stream end, and refuses the next calls of its run', async () => {
      const { admin, key } = await newTenant();
      await addRule(admin, 'result.outputTokens > 500 && result.isComplete');
      sayLong();
      let runs = 0;
      await eventually(async () => {
        const headers = { 'x-agentlens-run': `run-stream-${++runs}` };
        const answer = await call(dialect, key, { body: { stream: true }, headers });
        expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('42')]);
        const asked = world.provider.requests.length;
        const next = await call(dialect, key, { headers });
        expect([next.status, await next.text()]).toEqual([
          REFUSED[dialect].policy,
          expect.stringContaining('after an answer: Too long'),
        ]);
        expect(world.provider.requests.length).toBe(asked);
      });
      world.provider.answer(say(SAID));
      expect((await call(dialect, key, { headers: { 'x-agentlens-run': 'another' } })).status).toBe(200);
    });
  });

  it('lets no agent ask about an answer', async () => {
    const { admin } = await newTenant();
    const { body } = await admin.post('/api/keys', { scopes: ['decide'], agents: ['bot'] });
    const asked = await fetch(`${world.platform.addressFor('POST', '/v1/runs')}/v1/runs/run-1/evaluate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${body.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ phase: 'llm.after', agentId: 'bot', result: {} }),
    });
    expect([asked.status, await asked.text()]).toEqual([400, expect.stringContaining('tool.before')]);
  });
}
