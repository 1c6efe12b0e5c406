import type { DecisionRequest, GuardrailRule } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { serviceIn } from './decision-pipeline.testing.ts';

const SCOPES = ['run', 'tree', 'session', 'agent', 'tenant'] as const;
type Scope = (typeof SCOPES)[number];

const blocking = (conditionType: string, conditionConfig: object, tool: string): Partial<GuardrailRule> => ({
  ...{
    conditionType,
    conditionConfig: conditionConfig as GuardrailRule['conditionConfig'],
    selector: { tools: [tool] },
  },
  ...{ actionType: 'block', actionConfig: {}, onUnavailable: 'block', onMissing: 'allow' },
});
const called = (name: string, fields: Partial<DecisionRequest> = {}) => ({ tool: { name, tags: [] }, ...fields });

describe('rules over the calls of a scope', () => {
  it.each<[Scope, Partial<DecisionRequest>, Partial<DecisionRequest>, Partial<DecisionRequest>]>([
    ['tree', { runId: 'b', ancestors: ['root'] }, { runId: 'c', ancestors: ['a', 'root'] }, { runId: 'root2' }],
    ['session', { runId: 'b', sessionId: 's' }, { runId: 'c', sessionId: 's' }, { runId: 'b', sessionId: 't' }],
    ['agent', { runId: 'b' }, { runId: 'c' }, { runId: 'b', agentId: 'other' }],
    ['tenant', { runId: 'b' }, { runId: 'c', agentId: 'other' }, { runId: 'b', tenantId: 'globex' }],
  ])('holds across runs of one %s and not beyond', async (scope, first, same, other) => {
    const { ask } = serviceIn({
      rules: [
        blocking('sequence', { mustNotHaveCalled: [{ tools: ['read'] }], scope }, 'send'),
        blocking('repeated_call', { times: 1, sameResult: false, scope }, 'poll'),
        blocking('max_calls', { tools: ['pay'], max: 1, scope }, 'pay'),
      ],
    });
    for (const tool of ['read', 'poll', 'pay']) expect((await ask(called(tool, first))).verdict).toBe('ALLOW');
    for (const tool of ['send', 'poll', 'pay']) {
      expect((await ask(called(tool, { ...same, callId: tool }))).verdict).toBe('BLOCK');
      expect((await ask(called(tool, { ...other, callId: tool }))).verdict).toBe('ALLOW');
    }
  });

  it('treats a run without a session as a session of its own, and a tree without its ancestors as unavailable', async () => {
    const inScope = (scope: Scope) => blocking('max_calls', { tools: ['pay'], max: 1, scope }, 'pay');
    const session = serviceIn({ rules: [inScope('session')] });
    for (const runId of ['a', 'b']) {
      expect((await session.ask(called('pay', { runId }))).verdict).toBe('ALLOW');
      expect((await session.ask(called('pay', { runId, callId: 'again' }))).verdict).toBe('BLOCK');
    }
    const tree = serviceIn({ rules: [inScope('tree')] });
    expect(await tree.ask(called('pay', { ancestorsUnknown: true }))).toMatchObject({
      ...{ verdict: 'BLOCK', bypasses: [{ why: 'unavailable', did: 'block' }] },
    });
  });

  it('counts calls like a simple model', async () => {
    const RUNS = ['root', 'child', 'other'] as const;
    const step = fc.record({
      run: fc.constantFrom(...RUNS),
      agentId: fc.constantFrom('a', 'b'),
      sessionId: fc.constantFrom('s', 't'),
      tool: fc.constantFrom('pay', 'search'),
      ends: fc.boolean(),
    });
    const idOf = (scope: Scope, { run, agentId, sessionId }: { run: string; agentId: string; sessionId: string }) =>
      ({ run, tree: run === 'child' ? 'root' : run, session: sessionId, agent: agentId, tenant: '' })[scope];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...SCOPES),
        fc.integer({ min: 1, max: 3 }),
        fc.array(step, { maxLength: 25 }),
        async (scope, max, steps) => {
          const rule = blocking('max_calls', { tools: ['pay'], max, scope }, 'pay');
          const { ask } = serviceIn({ rules: [rule] });
          const counts = new Map<string, number>();
          for (const [at, one] of steps.entries()) {
            const { run, agentId, sessionId, tool, ends } = one;
            const call = {
              ...{ agentId, sessionId, runId: run, callId: `c${at % 4}-${at}` },
              ...(run === 'child' ? { ancestors: ['root'] } : {}),
            };
            const id = idOf(scope, one);
            const before = counts.get(id) ?? 0;
            const isBlocked = tool === 'pay' && before >= max;
            expect((await ask(called(tool, call))).verdict).toBe(isBlocked ? 'BLOCK' : 'ALLOW');
            if (isBlocked) continue;
            if (tool === 'pay') counts.set(id, before + 1);
            if (!ends) continue;
            const result = { phase: 'tool.after' as const, result: 'ok' };
            await ask(called(tool, { ...call, ...result }));
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});
