import type { Budget, DecisionRequest } from '@agentlens/contracts';
import { afterAll, describe, expect, it } from '@jest/globals';
import { bus, NOW, serviceIn } from './decision-pipeline.testing.ts';

afterAll(() => bus.close());

const budget: Budget = {
  ...{ id: 'b', tenantId: 'acme', name: 'Pocket money', scope: 'run', period: 'total', limitUsd: 1, enabled: true },
  ...{ onUnavailable: 'allow', onUnpriced: 'estimate', freeCalls: 'block', version: 1, createdAt: '', updatedAt: '' },
};
const ACCOUNT = { budgetId: 'b', scopeId: 'run', periodStart: '1970-01-01', keptMs: 1 };

/** A model call that costs so much, when it begins or later. */
const costing = (callId: string, costUsd: number, fields: Partial<DecisionRequest> = {}) => ({
  ...{ callId, phase: 'llm.before' as const, tool: undefined, estimate: { tokens: costUsd * 1_000, costUsd } },
  ...fields,
});

describe('a model call that runs', () => {
  it('replaces its reservation while there is room, and publishes only the refusal', async () => {
    const { ask, state, offered } = serviceIn({ budgets: [budget] });
    await ask(costing('a', 0.2));
    await ask(costing('b', 0.4));
    expect(await ask(costing('a', 0.6, { grows: true }))).toMatchObject({ verdict: 'ALLOW' });
    expect(await ask(costing('a', 0.7, { grows: true }))).toMatchObject({
      ...{ verdict: 'BLOCK', reason: 'budget', budgetId: 'b', control: 'CONTINUE' },
    });
    expect(await state.budgets.balances('acme', [ACCOUNT], NOW)).toMatchObject([{ heldUsd: 1 }]);
    expect(offered.map(({ verdict }) => verdict)).toEqual(['ALLOW', 'ALLOW', 'BLOCK']);
  });

  it('does not ask rules again and starts no further iteration', async () => {
    const limits = {
      agents: new Map(),
      runs: new Map([
        [
          'run',
          {
            ...{ maxTokens: 900, maxIterations: 1, maxCostUsd: 10, maxConsecutiveFailures: 5, maxConfidenceDrop: null },
            ...{ confidenceWindow: 5, probeAfterSeconds: null },
          },
        ],
      ]),
    };
    const blocking = {
      ...{ conditionType: 'expression', conditionConfig: { expression: 'phase == "llm.before"' } },
      ...{ selector: { phases: ['llm.before' as const] }, actionType: 'block' as const },
    };
    const { ask } = serviceIn({ limits, rules: [blocking] });
    expect(await ask(costing('first', 0.1))).toMatchObject({ verdict: 'BLOCK', reason: 'rule' });
    expect(await ask(costing('a', 0.8, { grows: true }))).toMatchObject({ verdict: 'ALLOW' });
    expect(await ask(costing('a', 0.9, { grows: true }))).toMatchObject({ verdict: 'ALLOW' });
    const over = await ask(costing('a', 0.95, { grows: true }));
    expect(over).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE', reason: 'breaker' });
    expect(await ask(costing('next', 0))).toMatchObject({ verdict: 'BLOCK', reason: 'breaker' });
  });

  it('stops with its run', async () => {
    const killed = { kind: 'killed', modelOverride: null, reason: 'Enough' } as const;
    const { ask } = serviceIn({ controlState: killed });
    expect(await ask(costing('a', 0.1, { grows: true }))).toMatchObject({ verdict: 'BLOCK', reason: 'order' });
  });
});
