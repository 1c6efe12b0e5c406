import { type Alert, COMMANDS, type DecisionRequest, type GuardrailRule } from '@agentlens/contracts';
import { isInRollout, type RunLabels } from '@agentlens/guardrails';
import { StateUnavailable } from '@agentlens/state';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anAlert } from '../../test/asking.ts';
import { bus, memoryLabels, serviceIn } from './decision-service.testing.ts';

const flow = (fields: Partial<GuardrailRule> = {}): Partial<GuardrailRule> => ({
  ...{ name: 'No egress', conditionType: 'data_flow', selector: { tools: ['send'] } },
  conditionConfig: { after: [{ tools: ['read'] }], label: 'pii', clearedBy: [{ tools: ['redact'] }] },
  ...{ actionType: 'block', actionConfig: {}, onUnavailable: 'block' },
  ...fields,
});
const called = (name: string, fields: Partial<DecisionRequest> = {}) => ({ tool: { name, tags: [] }, ...fields });
const child = { runId: 'child', ancestors: ['root'] };

/** Ids of the ancestors of run `at`, nearest first, in a forest given by the parent of each run. */
function lineOf(parents: readonly number[], at: number): string[] {
  const parent = parents[at] ?? -1;
  return parent < 0 ? [] : [`run-${parent}`, ...lineOf(parents, parent)];
}

describe('a rule about data flow', () => {
  it('blocks a sink in another run of the tree, for any agent, and names the source', async () => {
    const { ask, offered } = serviceIn({ rules: [flow()] });
    await ask(called('read', { ...child, agentId: 'crm', callId: 'c1' }));
    const sibling = { runId: 'sibling', ancestors: ['root'], agentId: 'mailer' };
    expect(await ask(called('send', sibling))).toMatchObject({ verdict: 'BLOCK', finalRuleId: 'rule-0' });
    expect(offered.at(-1)?.evaluatedRules).toMatchObject([
      { flow: { label: 'pii', grade: 'possible', source: { runId: 'child', agentId: 'crm', toolName: 'read' } } },
    ]);
    expect((await ask(called('send', { runId: 'other' }))).verdict).toBe('ALLOW');
  });

  it('labels nothing for a source call that is blocked or waits for approval', async () => {
    let status: Alert['status'] = 'pending';
    const approvals = await bus.serve(COMMANDS.resolveApproval, async () => ({
      ok: true as const,
      value: { ...anAlert(), status },
    }));
    const refusing = { conditionType: 'tool_name', conditionConfig: { value: 'read' }, actionConfig: {} };
    for (const actionType of ['block', 'terminate_run', 'require_approval']) {
      const { ask } = serviceIn({ rules: [flow(), { ...refusing, actionType }] });
      expect((await ask(called('read'))).verdict).toBe('BLOCK');
      expect((await ask(called('send'))).verdict).toBe('ALLOW');
      status = 'approved';
      const isApproved = actionType === 'require_approval';
      expect((await ask(called('read'))).verdict).toBe(isApproved ? 'ALLOW' : 'BLOCK');
      expect((await ask(called('send'))).verdict).toBe(isApproved ? 'BLOCK' : 'ALLOW');
      status = 'pending';
    }
    await approvals.close();
  });

  it('labels the tree when an approval fails, not while it waits', async () => {
    let status: Alert['status'] = 'pending';
    const approvals = await bus.serve(COMMANDS.resolveApproval, async () => ({
      ok: true as const,
      value: { ...anAlert(), status },
    }));
    const asking = { conditionType: 'tool_name', conditionConfig: { value: 'deploy' }, actionConfig: {} };
    const readOnly = flow({ conditionConfig: { afterDenied: [{ tools: ['deploy'] }], label: 'failed' } });
    for (const failed of ['denied', 'expired', 'cancelled'] as const) {
      const { ask } = serviceIn({ rules: [readOnly, { ...asking, actionType: 'require_approval' }] });
      for (const [then, verdict] of [
        ['pending', 'ALLOW'],
        ['approved', 'ALLOW'],
        [failed, 'BLOCK'],
      ] as const) {
        status = then;
        expect((await ask(called('deploy', child))).verdict).toBe(then === 'approved' ? 'ALLOW' : 'BLOCK');
        expect((await ask(called('send', { runId: 'root' }))).verdict).toBe(verdict);
      }
    }
    await approvals.close();
  });

  it('records labels for a rule in shadow and does not act on them', async () => {
    const { ask } = serviceIn({ rules: [flow({ mode: 'shadow' })] });
    await ask(called('read'));
    expect(await ask(called('send'))).toMatchObject({ verdict: 'ALLOW', wouldHave: 'block' });
  });

  it('sets the label again with a result that arrives after the label was cleared', async () => {
    const { ask } = serviceIn({ rules: [flow()] });
    await ask(called('read', { callId: 'r' }));
    await ask(called('redact', { phase: 'tool.after', callId: 'c' }));
    expect((await ask(called('send'))).verdict).toBe('ALLOW');
    await ask(called('read', { phase: 'tool.after', callId: 'r' }));
    expect((await ask(called('send'))).verdict).toBe('BLOCK');
  });

  it('has written the label before the answer to the source is out', async () => {
    const labels = memoryLabels();
    const order: string[] = [];
    const slow: RunLabels = {
      read: (line) => labels.read(line),
      clear: (...cleared) => labels.clear(...cleared),
      async set(...set) {
        await new Promise(setImmediate);
        const rejected = await labels.set(...set);
        order.push('written');
        return rejected;
      },
    };
    const { ask } = serviceIn({ rules: [flow()], labels: slow });
    await ask(called('read')).then(() => order.push('answered'));
    expect(order).toEqual(['written', 'answered']);
  });

  describe('without its labels', () => {
    const fail = async () => {
      throw new StateUnavailable('labels', new Error('away'));
    };
    const away: RunLabels = { read: fail, set: fail, clear: fail };
    const full: RunLabels = { read: async () => new Map(), set: async (_, labels) => labels, clear: fail };

    it.each([
      ['the store is unavailable', away],
      ['the tree has too many labels', full],
    ])('blocks the source if the rule says so and %s', async (_, labels) => {
      const { ask } = serviceIn({ rules: [flow()], labels });
      expect(await ask(called('read'))).toMatchObject({
        ...{ verdict: 'BLOCK', effect: 'block', reason: 'rule', finalRuleId: 'rule-0' },
        bypasses: [{ ruleId: 'rule-0', why: 'unavailable', did: 'block' }],
      });
      expect((await ask(called('search'))).verdict).toBe('ALLOW');
    });

    it.each([
      ['allows', flow({ onUnavailable: 'allow' }), 'allow'],
      ['does not act in shadow', flow({ mode: 'shadow' }), 'block'],
    ] as const)('%s and records the bypass', async (_, rule, did) => {
      const { ask } = serviceIn({ rules: [rule], labels: away });
      const bypasses = [{ ruleId: 'rule-0', why: 'unavailable', did }];
      for (const tool of ['read', 'send'])
        expect(await ask(called(tool))).toMatchObject({ verdict: 'ALLOW', bypasses });
    });

    it('blocks only the source calls in the share of a canary', async () => {
      const rollout = { percent: 50, by: 'agent' as const };
      const { ask } = serviceIn({ rules: [flow({ mode: 'canary', rollout })], labels: away });
      const agents = Array.from({ length: 20 }, (_, n) => `agent-${n}`);
      const blocked = await Promise.all(
        agents.map(async (agentId) => (await ask(called('read', { agentId }))).verdict === 'BLOCK'),
      );
      expect(blocked).toEqual(agents.map((agentId) => isInRollout('rule-0', rollout, agentId)));
      expect(new Set(blocked).size).toBe(2);
    });

    it('blocks sources and sinks if the gateway does not know the ancestors', async () => {
      const { ask } = serviceIn({ rules: [flow()] });
      for (const tool of ['read', 'send']) {
        const decision = await ask(called(tool, { ...child, ancestorsUnknown: true }));
        expect(decision).toMatchObject({ verdict: 'BLOCK', bypasses: [{ why: 'unavailable', did: 'block' }] });
      }
    });

    it('keeps a label that could not be cleared', async () => {
      const labels = memoryLabels();
      const stuck: RunLabels = { read: (line) => labels.read(line), set: (...set) => labels.set(...set), clear: fail };
      const { ask } = serviceIn({ rules: [flow()], labels: stuck });
      await ask(called('read'));
      expect((await ask(called('redact', { phase: 'tool.after' }))).verdict).toBe('ALLOW');
      expect((await ask(called('send'))).verdict).toBe('BLOCK');
    });
  });

  it('decides as a simple model over random trees and orders of calls', async () => {
    const RUNS = 8;
    // The parent of each run is an earlier one, or none.
    const forest = fc.tuple(...Array.from({ length: RUNS }, (_, at) => fc.integer({ min: -1, max: at - 1 })));
    const step = fc.record({
      run: fc.nat(RUNS - 1),
      agentId: fc.constantFrom('crm', 'mailer'),
      tool: fc.constantFrom('read', 'fetch', 'send', 'post', 'redact', 'search'),
      phase: fc.constantFrom('tool.before' as const, 'tool.after' as const),
    });
    const rules = [
      flow(),
      // About one agent, with sources of every agent; another label; not cleared.
      flow({
        ...{ agentId: 'mailer', selector: { tools: ['post'] } },
        conditionConfig: { after: [{ tools: ['fetch', 'read'] }], label: 'web' },
      }),
    ];
    await fc.assert(
      fc.asyncProperty(forest, fc.array(step, { maxLength: 40 }), async (parents, steps) => {
        const { ask } = serviceIn({ rules });
        const standing = new Map<string, Set<string>>();
        for (const [at, { run, agentId, tool, phase }] of steps.entries()) {
          const ancestors = lineOf(parents, run);
          const root = ancestors.at(-1) ?? `run-${run}`;
          const labels = standing.get(root) ?? new Set();
          standing.set(root, labels);
          const isSink = phase === 'tool.before';
          const blocked =
            isSink &&
            ((tool === 'send' && labels.has('pii')) || (tool === 'post' && agentId === 'mailer' && labels.has('web')));
          const lineage = ancestors.length === 0 ? {} : { ancestors };
          const request = { runId: `run-${run}`, ...lineage, agentId, phase, callId: `call-${at}` };
          expect((await ask(called(tool, request))).verdict).toBe(blocked ? 'BLOCK' : 'ALLOW');
          if (tool === 'redact' && phase === 'tool.after') labels.delete('pii');
          if (tool === 'read') labels.add('pii').add('web');
          if (tool === 'fetch') labels.add('web');
        }
      }),
      { numRuns: 200 },
    );
  });
});
