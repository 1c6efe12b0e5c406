import { beginStream, eventually, SAID, say } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { makeBudget } from './loaded-settings.ts';
import { DIALECTS, type GatewayWorld, limitTokens, REFUSED, readText } from './model-gateway-world.ts';

/** A limit per day of the agent "bot", in USD. */
const budget = (limitUsd: number) => ({ name: 'Stream', scope: 'agent', scopeId: 'bot', period: 'day', limitUsd });
/** About 1,000 tokens. */
const LONG = 'x'.repeat(3_500);

/** Budgets and breakers end answers that grow beyond them. */
export function describeGrowingCalls(world: GatewayWorld): void {
  const { newTenant, call } = world;

  describe.each(DIALECTS)('a long answer of %s', (dialect) => {
    const headers = { 'x-agentlens-run': 'run-long' };
    const long = { body: { stream: true, ...limitTokens(dialect, 30_000) }, headers };

    it('ends when its budget is spent, and the next call of its run is refused until there is room', async () => {
      const { admin, key } = await newTenant();
      // Room for two steps of 1,000 tokens at the price of each model, and not for many.
      const budgetId = await makeBudget(world.platform, admin, budget(0.06));
      world.provider.answer(beginStream(Array.from({ length: 40 }, () => LONG)));
      const left = world.provider.left();
      const answer = await call(dialect, key, long);
      expect(answer.status).toBe(200);
      const text = await readText(answer).end();
      await left;
      expect(text).toMatch(/AgentLens stopped this answer: The budget \\"Stream\\" is spent. Decision/);

      const asked = world.provider.requests.length;
      const again = await call(dialect, key, { body: { ...limitTokens(dialect, 5) }, headers });
      expect(again.status).toBe(REFUSED[dialect].money);
      expect(world.provider.requests.length).toBe(asked);

      world.provider.answer(say(SAID));
      expect((await admin.patch(`/api/budgets/${budgetId}`, { limitUsd: 100 })).status).toBe(200);
      await eventually(async () => {
        expect((await call(dialect, key, { body: { ...limitTokens(dialect, 5) }, headers })).status).toBe(200);
      });
    });

    it('passes whole while there is room, and is charged with what it used', async () => {
      const { admin, key } = await newTenant();
      const budgetId = await makeBudget(world.platform, admin, budget(100));
      world.provider.answer(say({ ...SAID, pieces: Array.from({ length: 20 }, () => LONG), outputTokens: 20_000 }));
      expect((await (await call(dialect, key, long)).text()).length).toBeGreaterThan(20 * LONG.length);
      await eventually(async () => {
        const [pot] = (await admin.get(`/api/budgets/${budgetId}`)).body.pots;
        expect(pot).toMatchObject({ reservedUsd: 0 });
        expect(pot.spentUsd).toBeGreaterThan(0.01);
      });
    });
  });

  it('ends an answer at the token limit of its run', async () => {
    const { admin, key } = await newTenant();
    for (const [scopeId, maxTokens] of [
      ['run-limited', 4_000],
      ['run-probe', 1],
    ] as const) {
      const limits = { scope: 'run', scopeId, limits: { maxTokens } };
      expect((await admin.put('/api/breakers/limits', limits)).status).toBe(200);
    }
    // A stream that begins before the evaluator knows the limit would stay open.
    await eventually(async () => {
      const probe = await call('anthropic', key, { headers: { 'x-agentlens-run': 'run-probe' } });
      expect([probe.status, await probe.text()]).toEqual([451, expect.stringContaining('breaker')]);
    });
    world.provider.answer(beginStream(Array.from({ length: 40 }, () => LONG)));
    const headers = { 'x-agentlens-run': 'run-limited' };
    const body = { stream: true, max_tokens: 30_000 };
    await eventually(async () => {
      const text = await readText(await call('anthropic', key, { body, headers })).end();
      expect(text).toContain('The circuit breaker of this run is open: tokens');
    });
    const asked = world.provider.requests.length;
    expect((await call('anthropic', key, { headers })).status).toBe(451);
    expect(world.provider.requests.length).toBe(asked);
  });
}
