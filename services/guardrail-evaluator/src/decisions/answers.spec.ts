import type { Budget } from '@agentlens/contracts';
import { afterAll, describe, expect, it } from '@jest/globals';
import { bus, serviceIn } from './decision-pipeline.testing.ts';

afterAll(() => bus.close());

const cutShort = {
  ...{ conditionType: 'expression', conditionConfig: { expression: 'result.finishReason == "length"' } },
  ...{ selector: { phases: ['llm.after' as const] }, actionType: 'block' as const },
};
const budget: Budget = {
  ...{ id: 'b', tenantId: 'acme', name: 'Pocket money', scope: 'run', period: 'total', limitUsd: 1, enabled: true },
  ...{ onUnavailable: 'allow', onUnpriced: 'estimate', freeCalls: 'block', version: 1, createdAt: '', updatedAt: '' },
};
/** The answer of the model call "a". */
const answer = (finishReason: string) => ({
  ...{ phase: 'llm.after' as const, callId: 'a', tool: undefined, result: { finishReason } },
});

describe('the answer of a model', () => {
  it('is decided by its own rules, and no rule of another phase', async () => {
    const anyCall = { ...cutShort, conditionConfig: { expression: 'true' } };
    const others = (['tool.before', 'tool.after', 'llm.before'] as const).map((phase) => ({
      ...{ ...anyCall, selector: { phases: [phase] } },
    }));
    const { ask, offered } = serviceIn({ rules: [cutShort, ...others] });
    expect(await ask(answer('stop'))).toMatchObject({ verdict: 'ALLOW' });
    expect(await ask(answer('length'))).toMatchObject({ verdict: 'BLOCK', reason: 'rule', phase: 'llm.after' });
    expect(offered.map(({ verdict }) => verdict)).toEqual(['ALLOW', 'BLOCK']);
  });

  it('is not withheld because a budget is spent, and reserves nothing', async () => {
    const { ask, state } = serviceIn({ budgets: [budget], rules: [cutShort] });
    const before = { phase: 'llm.before' as const, callId: 'a', tool: undefined, estimate: { tokens: 1, costUsd: 1 } };
    expect(await ask(before)).toMatchObject({ verdict: 'ALLOW' });
    expect(await ask({ ...before, callId: 'b' })).toMatchObject({ verdict: 'BLOCK', reason: 'budget' });
    expect(await ask(answer('stop'))).toMatchObject({ verdict: 'ALLOW' });
    const account = { budgetId: 'b', scopeId: 'run', periodStart: '1970-01-01', keptMs: 1 };
    expect(await state.budgets.balances('acme', [account], Date.parse('2026-03-01'))).toMatchObject([{ heldUsd: 1 }]);
  });

  it('starts no iteration', async () => {
    const limit = {
      ...{ maxTokens: 900, maxIterations: 1, maxCostUsd: 10, maxConsecutiveFailures: 5, maxConfidenceDrop: null },
      ...{ confidenceWindow: 5, probeAfterSeconds: null },
    };
    const { ask } = serviceIn({ limits: { agents: new Map(), runs: new Map([['run', limit]]) }, rules: [cutShort] });
    for (const callId of ['a', 'b', 'c'])
      expect(await ask({ ...answer('stop'), callId })).toMatchObject({ verdict: 'ALLOW' });
    const first = { phase: 'llm.before' as const, callId: 'd', tool: undefined, estimate: { tokens: 1, costUsd: 0 } };
    expect(await ask(first)).toMatchObject({ verdict: 'ALLOW' });
  });
});
