import type { DecisionRequest, GuardrailRule } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Replay } from './replay.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const SCOPES = ['run', 'tree', 'session', 'agent', 'tenant'] as const;

const step = fc.record({
  run: fc.constantFrom('root', 'child', 'other'),
  agentId: fc.constantFrom('a', 'b'),
  sessionId: fc.constantFrom('s', 't'),
  tool: fc.constantFrom('pay', 'search'),
  ends: fc.boolean(),
});

/** The evaluator's call-scopes.spec.ts checks live decisions against the same model. */
describe('replayed rules over the calls of a scope', () => {
  it('count calls like a simple model', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...SCOPES),
        fc.integer({ min: 1, max: 3 }),
        fc.array(step, { maxLength: 25 }),
        async (scope, max, steps) => {
          const at = new Date(NOW).toISOString();
          const rule: GuardrailRule = {
            ...{ id: 'rule', tenantId: 'acme', version: 1, name: 'Rule', enabled: true, cooldownMinutes: 0 },
            ...{ dryRun: false, direction: 'both', priority: 0, mode: 'enforce', onMissing: 'allow' },
            ...{ onUnavailable: 'allow', selector: { tools: ['pay'] }, conditionType: 'max_calls' },
            ...{ conditionConfig: { tools: ['pay'], max, scope }, actionType: 'block', actionConfig: {} },
            ...{ createdAt: at, updatedAt: at },
          };
          const replay = new Replay('acme', [rule], NOW);
          const counts = new Map<string, number>();
          for (const [n, { run, agentId, sessionId, tool, ends }] of steps.entries()) {
            const ids = { run, tree: run === 'child' ? 'root' : run, session: sessionId, agent: agentId, tenant: '' };
            const before = counts.get(ids[scope]) ?? 0;
            const isBlocked = tool === 'pay' && before >= max;
            const request: DecisionRequest = {
              ...{ tenantId: 'acme', agentId, sessionId, runId: run, callId: `c${n}`, phase: 'tool.before' },
              ...{ tool: { name: tool, tags: [] }, args: {}, tags: {}, subjects: [], metrics: {}, deadlineMs: 1_000 },
              ...(run === 'child' ? { ancestors: ['root'] } : {}),
              receivedAt: at,
            };
            expect((await replay.ask(request)).effect).toBe(isBlocked ? 'block' : 'allow');
            if (isBlocked) continue;
            if (tool === 'pay') counts.set(ids[scope], before + 1);
            if (ends) await replay.ask({ ...request, phase: 'tool.after', result: 'ok' });
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});
