import { type Alert, COMMANDS, type DecisionRequest, type GuardrailRule } from '@agentlens/contracts';
import { isInRollout, type RunLabels } from '@agentlens/guardrails';
import { StateUnavailable } from '@agentlens/state';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anAlert } from '../../test/asking.ts';
import { bus, memoryLabels, serviceIn } from './decision-pipeline.testing.ts';

const flow = (fields: Partial<GuardrailRule> = {}): Partial<GuardrailRule> => ({
  ...{ name: 'No egress', conditionType: 'data_flow', selector: { tools: ['send'] } },
  conditionConfig: { after: [{ tools: ['read'] }], label: 'pii', clearedBy: [{ tools: ['redact'] }] },
  ...{ actionType: 'block', actionConfig: {}, onUnavailable: 'block' },
  ...fields,
});
const called = (name: string, fields: Partial<DecisionRequest> = {}) => ({ tool: { name, tags: [] }, ...fields });
type DecidedCall = Partial<Pick<DecisionRequest, 'phase' | 'callId' | 'args'>> & {
  readonly tool?: string;
  readonly tags?: string[];
};
const AFTER: DecidedCall = { phase: 'tool.after', callId: 'c' };
/** No rule needs evidence. */
const unprinted = {
  note: async () => undefined,
  compare: async () => ({ isComplete: false, found: [] }),
  salt: async () => 'salt',
};
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

  it('follows its session with the scope session, and no other one', async () => {
    const config = { after: [{ tools: ['read'] }], label: 'pii', scope: 'session', clearedBy: [{ tools: ['redact'] }] };
    const { ask } = serviceIn({ rules: [flow({ conditionConfig: config })] });
    const turn = (runId: string, sessionId?: string) => ({ runId, sessionId });
    await ask(called('read', turn('turn-1', 'chat')));
    expect((await ask(called('send', turn('turn-1', 'chat')))).verdict).toBe('BLOCK');
    expect((await ask(called('send', turn('turn-2', 'chat')))).verdict).toBe('BLOCK');
    for (const free of [turn('turn-3', 'other'), turn('turn-4')])
      expect((await ask(called('send', free))).verdict).toBe('ALLOW');
    // A sub-run that names no session is still part of the tree.
    expect((await ask(called('send', { ...turn('sub'), ancestors: ['turn-1'] }))).verdict).toBe('BLOCK');
    const redacting = called('redact', { ...turn('turn-1', 'chat'), callId: 'r' });
    await ask(redacting);
    await ask({ ...redacting, phase: 'tool.after', result: {} });
    for (const cleared of [turn('turn-1', 'chat'), turn('turn-2', 'chat')])
      expect((await ask(called('send', cleared))).verdict).toBe('ALLOW');
  });

  it('does not follow the session by default, nor the tree of another turn', async () => {
    const { ask } = serviceIn({ rules: [flow()] });
    await ask(called('read', { runId: 'turn-1', sessionId: 'chat' }));
    expect((await ask(called('send', { runId: 'turn-2', sessionId: 'chat' }))).verdict).toBe('ALLOW');
    const following = { after: [{ tools: ['read'] }], label: 'pii', scope: 'session' };
    const sessions = serviceIn({ rules: [flow({ conditionConfig: following })] });
    await sessions.ask(called('read', { runId: 'child', ancestors: ['root'] }));
    // What the tree of another turn knows is not known to the session.
    expect((await sessions.ask(called('send', { runId: 'root', sessionId: 'chat' }))).verdict).toBe('BLOCK');
    expect((await sessions.ask(called('send', { runId: 'turn-2', sessionId: 'chat' }))).verdict).toBe('ALLOW');
  });

  it('compares what a later turn of the session carries with the results of earlier ones', async () => {
    const config = { after: [{ tools: ['read'] }], label: 'pii', scope: 'session', grade: 'carried' };
    const { ask } = serviceIn({ rules: [flow({ conditionConfig: config })] });
    const reading = called('read', { runId: 'turn-1', sessionId: 'chat', callId: 'c' });
    await ask(reading);
    await ask({ ...reading, phase: 'tool.after', result: { iban: 'DE44500105175407324931' } });
    const send = (args: unknown) => ask(called('send', { runId: 'turn-2', sessionId: 'chat', args }));
    expect((await send({ text: 'to DE44500105175407324931' })).verdict).toBe('BLOCK');
    expect((await send({ text: 'nothing of it' })).verdict).toBe('ALLOW');
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
    await ask(called('redact', { callId: 'c' }));
    await ask(called('redact', { phase: 'tool.after', callId: 'c' }));
    expect((await ask(called('send'))).verdict).toBe('ALLOW');
    await ask(called('read', { phase: 'tool.after', callId: 'r' }));
    expect((await ask(called('send'))).verdict).toBe('BLOCK');
  });

  it.each<[string, readonly DecidedCall[], 'ALLOW' | 'BLOCK']>([
    ['was asked about and allowed', [{ args: { a: 1 } }, { phase: 'tool.after', args: { a: 1 } }], 'ALLOW'],
    ['was allowed under a call id', [{ callId: 'c' }, { phase: 'tool.after', callId: 'c', args: { b: 1 } }], 'ALLOW'],
    ['was never asked about', [{ phase: 'tool.after', callId: 'c' }], 'BLOCK'],
    [
      'was asked about as another tool',
      [
        { callId: 'c', tool: 'look' },
        { phase: 'tool.after', callId: 'c' },
      ],
      'BLOCK',
    ],
    ['was asked about without its tags', [{ callId: 'c' }, { phase: 'tool.after', callId: 'c', tags: ['x'] }], 'BLOCK'],
    [
      'was blocked',
      [
        { callId: 'c', tags: ['forbidden'] },
        { phase: 'tool.after', callId: 'c' },
      ],
      'BLOCK',
    ],
    ['has ended before', [{ callId: 'c' }, AFTER, { tool: 'read' }, AFTER], 'BLOCK'],
  ])('clears its label by the result of a call only if the call %s', async (_, calls, verdict) => {
    const forbidden = { conditionType: 'tool_tag', conditionConfig: { tags: ['forbidden'] }, actionType: 'block' };
    const { ask } = serviceIn({ rules: [flow(), { ...forbidden, actionConfig: {} }] });
    await ask(called('read'));
    for (const { tool = 'redact', tags = [], ...fields } of calls) await ask({ tool: { name: tool, tags }, ...fields });
    expect((await ask(called('send'))).verdict).toBe(verdict);
  });

  it('has written the label before the answer to the source is out', async () => {
    const labels = memoryLabels();
    const order: string[] = [];
    const slow: RunLabels = {
      read: (line) => labels.read(line),
      ...unprinted,
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
    const away: RunLabels = { ...unprinted, read: fail, set: fail, clear: fail };
    const full: RunLabels = {
      read: async () => new Map(),
      set: async (_, labels) => labels,
      clear: fail,
      ...unprinted,
    };

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
      const stuck: RunLabels = {
        read: (line) => labels.read(line),
        set: (...set) => labels.set(...set),
        clear: fail,
        ...unprinted,
      };
      const { ask } = serviceIn({ rules: [flow()], labels: stuck });
      await ask(called('read'));
      await ask(called('redact'));
      expect((await ask(called('redact', { phase: 'tool.after' }))).verdict).toBe('ALLOW');
      expect((await ask(called('send'))).verdict).toBe('BLOCK');
    });
  });

  it.each(['carried', 'proven'])('lets a handle be passed back that is no data, with the grade %s', async (grade) => {
    const conditionConfig = {
      after: [{ tools: ['read'] }],
      label: 'customer',
      grade,
      notData: ['next', 'items.*.handle'],
    };
    const { ask } = serviceIn({ rules: [flow({ conditionConfig })] });
    const result = {
      next: 'cursor-7f3a9b2c41',
      items: [{ handle: { id: 'handle-55aa0c19e2' }, mail: 'ann.m.smith@example.com' }],
    };
    await ask(called('read', { callId: 'c1' }));
    await ask(called('read', { callId: 'c1', phase: 'tool.after', result }));
    const send = async (args: object) => (await ask(called('send', { args }))).verdict;
    expect(await send({ cursor: 'cursor-7f3a9b2c41', of: 'handle-55aa0c19e2' })).toBe('ALLOW');
    expect(await send({ cursor: 'cursor-7f3a9b2c41', to: 'ann.m.smith@example.com' })).toBe('BLOCK');
  });

  it('stops only calls that carry a value of a result, by the grade of the rule', async () => {
    const secrets = ['ann.m.smith@example.com', 'DE89 3704 0044 0532 0130 00', 'C-104277-X-5501'];
    const encodings: readonly ((text: string) => unknown)[] = [
      (text) => ({ to: text }),
      (text) => ({ body: `It is ${text.toUpperCase()} indeed` }),
      (text) => ({ data: Buffer.from(text).toString('base64') }),
      (text) => ({ url: `https://x.test/?q=${encodeURIComponent(text)}` }),
      (text) => ({ a: text.slice(0, 5), b: text.slice(5) }),
      () => ({ to: 'another customer entirely' }),
    ];
    const step = fc.record({
      tool: fc.constantFrom('read', 'send', 'post'),
      secret: fc.nat(secrets.length - 1),
      encoding: fc.nat(encodings.length - 1),
      reports: fc.boolean(),
      run: fc.constantFrom('root', 'child', 'other'),
    });
    const graded = (grade: string, tool: string) =>
      flow({ selector: { tools: [tool] }, conditionConfig: { after: [{ tools: ['read'] }], label: grade, grade } });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { ask, offered } = serviceIn({ rules: [graded('carried', 'send'), graded('proven', 'post')] });
        const trees = new Map<string, { known: Set<number>; open: number }>();
        for (const [at, { tool, secret, encoding, reports, run }] of steps.entries()) {
          const root = run === 'child' ? 'root' : run;
          const tree = trees.get(root) ?? { known: new Set(), open: 0 };
          trees.set(root, tree);
          const line = { runId: run, ...(run === 'child' ? { ancestors: ['root'] } : {}), callId: `c${at}` };
          const args = encodings[encoding]?.(secrets[secret] ?? '');
          if (tool === 'read') {
            await ask(called('read', line));
            if (reports) await ask(called('read', { ...line, phase: 'tool.after', result: { it: secrets[secret] } }));
            if (reports) tree.known.add(secret);
            else tree.open += 1;
            continue;
          }
          const isCarried = encoding < encodings.length - 1 && tree.known.has(secret);
          // A result that is not known yet may have been the value.
          const { verdict } = await ask(called(tool, { ...line, args }));
          expect(verdict).toBe(isCarried || tree.open > 0 ? 'BLOCK' : 'ALLOW');
          const finding = offered.at(-1)?.evaluatedRules.find(({ violated }) => violated);
          if (isCarried) expect(finding?.flow).toMatchObject({ grade: 'proven', field: 'it' });
          expect(JSON.stringify(offered.at(-1)?.evaluatedRules)).not.toContain(secrets[secret]);
        }
      }),
      { numRuns: 100 },
    );
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
      isAskedBefore: fc.boolean(),
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
        for (const [at, { run, agentId, tool, phase, isAskedBefore }] of steps.entries()) {
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
          const clears = tool === 'redact' && phase === 'tool.after' && isAskedBefore;
          if (clears) await ask(called(tool, { ...request, phase: 'tool.before' }));
          expect((await ask(called(tool, request))).verdict).toBe(blocked ? 'BLOCK' : 'ALLOW');
          if (clears) labels.delete('pii');
          if (tool === 'read') labels.add('pii').add('web');
          if (tool === 'fetch') labels.add('web');
        }
      }),
      { numRuns: 200 },
    );
  });
});
