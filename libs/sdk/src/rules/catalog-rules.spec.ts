import type { RolloutUnit } from '@agentlens/contracts';
import { placeInRollout } from '@agentlens/guardrails';
import { eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { AgentLensClient } from '../client.ts';
import { selectorRules } from '../guard/applicable.ts';
import type { BundledRule, LocalCall, LocalRules, RuleBundle } from '../guard/local-rules.ts';
import type { AgentLensOptions } from '../options.ts';
import { settle, TestPlatform } from '../testing/index.ts';
import { catalogRules } from './catalog-rules.ts';

function aBundled(fields: Partial<BundledRule>): BundledRule {
  return {
    ...{ id: 'r1', version: 1, name: 'No shell', mode: 'enforce', priority: 0, phases: ['tool.before'] },
    ...{ onMissing: 'allow', onUnavailable: 'allow' },
    ...{ conditionType: 'tool_name', conditionConfig: { value: '*' } },
    ...{ actionType: 'block', actionConfig: {} },
    ...fields,
  };
}

async function aGuard(
  server: TestPlatform,
  rules: readonly BundledRule[],
  options: Partial<AgentLensOptions> & { bundle?: Partial<RuleBundle> } = {},
): Promise<AgentLensClient> {
  const { bundle, ...rest } = options;
  server.offerBundle({ version: 1, ttlSeconds: 600, askAlways: [], rules: [...rules], ...bundle });
  const client = await server.client({ rules: catalogRules, ...rest });
  await eventually(() => expect(client.status.rulesVersion).toBe(bundle?.version ?? 1));
  return client;
}

describe.each<[string, LocalRules]>([
  ['the catalog', catalogRules],
  ['selectors alone', selectorRules],
])('with %s', (_, rules) => {
  it('does not ask the server about a call that no rule applies to', async () => {
    const server = new TestPlatform();
    const client = await aGuard(server, [aBundled({ selector: { tools: ['shell*'] } })], { rules });
    const run = await client.startRun();
    expect(await run.beforeTool('search', {})).toMatchObject({ verdict: 'ALLOW', source: 'local' });
    expect(server.questions).toEqual([]);
  });

  it('still asks in a phase that the server wants to see', async () => {
    const server = new TestPlatform();
    const run = await (await aGuard(server, [], { rules, bundle: { askAlways: ['tool.before'] } })).startRun();
    await run.beforeTool('search', {});
    await run.afterTool('search', {}, 1);
    expect(server.questions.map(({ phase }) => phase)).toEqual(['tool.before']);
  });

  it('leaves a rule that needs more data to the server, or to the rule itself while the server is unavailable', async () => {
    const server = new TestPlatform();
    const counting = aBundled({
      ...{ conditionType: 'max_calls', conditionConfig: { max: 3 }, onUnavailable: 'block' },
      selector: { tools: ['pay'] },
    });
    const client = await aGuard(server, [counting], { rules });
    const run = await client.startRun();
    expect(await run.beforeTool('pay', {})).toMatchObject({ verdict: 'ALLOW', source: 'remote' });
    server.fail('down');
    expect(await run.beforeTool('pay', {})).toMatchObject({
      verdict: 'BLOCK',
      control: 'CONTINUE',
      cause: { kind: 'RULE_VIOLATION', ruleId: 'r1' },
      source: 'fallback',
      bypass: 'unavailable',
    });
  });

  it('keeps applying expired rules while the server is unavailable', async () => {
    const server = new TestPlatform();
    const strict = aBundled({ onUnavailable: 'block', conditionType: 'unknown', selector: { toolTagsAny: ['money'] } });
    const client = await aGuard(server, [strict], { rules, bundle: { ttlSeconds: 60 } });
    const run = await client.startRun();
    server.fail('down');
    await server.clock.advance(3_600_000);
    expect(await run.beforeTool('pay', {}, ['MONEY'])).toMatchObject({ verdict: 'BLOCK', source: 'fallback' });
    expect(await run.beforeTool('read', {})).toMatchObject({ verdict: 'ALLOW', source: 'fallback' });
  });

  it('uses a newer bundle as soon as it is offered', async () => {
    const server = new TestPlatform();
    const client = await aGuard(server, [], { rules });
    server.offerBundle({ version: 2, ttlSeconds: 600, askAlways: [], rules: [aBundled({})] });
    await settle();
    await server.clock.advance(200);
    await eventually(() => expect(client.status.rulesVersion).toBe(2));
    const asked = () => server.calls.filter(({ path }) => path.startsWith('/v1/rules/bundle')).length;
    const before = asked();
    await server.clock.advance(2_000);
    await eventually(() => expect(asked()).toBe(before + 1));
  });

  it('neither downloads nor compiles an unchanged bundle again, and keeps applying it', async () => {
    const server = new TestPlatform();
    let compiled = 0;
    const counting: LocalRules = {
      compile(bundled) {
        compiled += 1;
        return rules.compile(bundled);
      },
    };
    const client = await aGuard(server, [], { rules: counting, bundle: { ttlSeconds: 60 } });
    const run = await client.startRun();
    const held = () => server.calls.filter((call) => call.headers['if-none-match'] !== undefined).length;
    for (const version of [2, 3]) {
      server.offerBundle({ version, ttlSeconds: 60, askAlways: [], rules: [] });
      await server.clock.advance(45_000);
      await eventually(() => expect(held()).toBeGreaterThanOrEqual(version - 1));
      await settle();
    }
    expect([compiled, client.status.rulesVersion]).toEqual([1, 1]);
    expect(await run.beforeTool('search', {})).toMatchObject({ verdict: 'ALLOW', source: 'local' });
  });

  it('rejects a bundle that was tampered with and asks the server', async () => {
    const server = new TestPlatform();
    const warnings: string[] = [];
    Object.assign(server, { apiKey: 'another key' });
    server.offerBundle({ version: 1, ttlSeconds: 600, askAlways: [], rules: [] });
    const client = await server.client({ rules, logger: { warn: (message) => warnings.push(message) } });
    await eventually(() => expect(warnings).toEqual(['agentlens: rule bundle rejected: bad signature']));
    expect(await (await client.startRun()).beforeTool('t', {})).toMatchObject({ source: 'remote' });
  });
});

describe('the catalog', () => {
  it("blocks locally what a rule forbids, with the server's message", async () => {
    const server = new TestPlatform();
    const rule = aBundled({ conditionType: 'tool_name', conditionConfig: { value: 'rm*' } });
    const run = await (await aGuard(server, [rule])).startRun();
    server.fail('down');
    expect(await run.beforeTool('RM_rf', {})).toMatchObject({
      verdict: 'BLOCK',
      control: 'CONTINUE',
      cause: { kind: 'RULE_VIOLATION', ruleId: 'r1' },
      message: 'Blocked by rule "No shell"',
      evaluatedRules: [{ ruleId: 'r1', enabled: true, matched: true, violated: true }],
      finalRuleId: 'r1',
      source: 'local',
    });
    expect(await run.beforeTool('ls', {})).toMatchObject({ verdict: 'ALLOW', source: 'local' });
    expect(server.questions).toEqual([]);
  });

  it('ends the run if a rule does', async () => {
    const run = await (await aGuard(new TestPlatform(), [aBundled({ actionType: 'terminate_run' })])).startRun();
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE', source: 'local' });
  });

  it('leaves approvals and changed arguments to the server', async () => {
    const server = new TestPlatform();
    const approval = aBundled({ actionType: 'require_approval', actionConfig: {} });
    const run = await (await aGuard(server, [approval])).startRun();
    expect(await run.beforeTool('t', {})).toMatchObject({ source: 'remote' });
  });

  it('only records what a rule in shadow mode would do', async () => {
    const run = await (await aGuard(new TestPlatform(), [aBundled({ mode: 'shadow' })])).startRun();
    expect(await run.beforeTool('t', {})).toMatchObject({
      verdict: 'ALLOW',
      source: 'local',
      evaluatedRules: [{ ruleId: 'r1', matched: true }],
    });
  });

  it('leaves a rule about data flow to the server, or to the rule itself while the server is unavailable', async () => {
    const server = new TestPlatform();
    const flow = aBundled({
      ...{ conditionType: 'data_flow', conditionConfig: { after: [{ tools: ['read'] }], label: 'pii' } },
      ...{ selector: { tools: ['send'] }, onUnavailable: 'block' },
    });
    const run = await (await aGuard(server, [flow])).startRun();
    for (const tool of ['send', 'read']) {
      expect(await run.beforeTool(tool, {})).toMatchObject({ verdict: 'ALLOW', source: 'remote' });
    }
    server.fail('down');
    const cause = { kind: 'RULE_VIOLATION', ruleId: 'r1' };
    expect(await run.beforeTool('send', {})).toMatchObject({ verdict: 'BLOCK', source: 'fallback', cause });
  });

  it('reports every call to the server if a rule counts calls', async () => {
    const server = new TestPlatform();
    const counting = aBundled({
      ...{ conditionType: 'sequence', conditionConfig: { mustHaveCalled: [{ tools: ['login'] }] } },
      selector: { tools: ['pay'] },
    });
    const run = await (await aGuard(server, [counting])).startRun();
    expect(await run.beforeTool('login', {})).toMatchObject({ source: 'remote' });
  });

  const noShell = aBundled({ conditionType: 'tool_argument', conditionConfig: { operator: 'contains', value: 'rm' } });

  it.each<[string, unknown]>([
    ['in a map', { q: new Map([['q', 'rm']]) }],
    ['below 31 levels', Array.from({ length: 31 }).reduce<unknown>((inner) => [inner], 'rm')],
    ['behind an invalid number', { n: Number.NaN, q: 'x' }],
    ['behind 200,000 values', [...Array.from({ length: 200_000 }, () => 0), 'rm']],
  ])('asks the server about content that may be hidden %s, and marks it as incomplete', async (_, args) => {
    const server = new TestPlatform();
    const client = await aGuard(server, [{ ...noShell, onUnavailable: 'block' }], { onOversized: 'allow' });
    const run = await client.startRun();
    expect(await run.beforeTool('t', args)).toMatchObject({ source: 'remote' });
    expect(server.questions).toMatchObject([{ unread: ['args'] }]);
    server.fail('down');
    expect(await run.beforeTool('t', args)).toMatchObject({ verdict: 'BLOCK', source: 'fallback' });
  });

  it('asks the server about a result that it truncated', async () => {
    const server = new TestPlatform();
    const rule = aBundled({ conditionType: 'sensitive_data', phases: ['tool.after'] });
    const config = { in: 'result', detectors: [{ detector: 'email' }] };
    const run = await (await aGuard(server, [{ ...rule, conditionConfig: config }])).startRun();
    await run.beforeTool('t', {});
    await run.afterTool('t', {}, 'ann@example.com');
    expect(server.questions).toEqual([]);
    await run.beforeTool('t', {});
    await run.afterTool('t', {}, `${'x'.repeat(300_000)} ann@example.com`);
    expect(server.questions).toMatchObject([{ phase: 'tool.after', unread: ['result'] }]);
  });

  it('decides plain-data arguments locally', async () => {
    const server = new TestPlatform();
    const run = await (await aGuard(server, [noShell])).startRun();
    expect(await run.beforeTool('t', { a: [{ q: 'rm' }] })).toMatchObject({ verdict: 'BLOCK', source: 'local' });
    expect(await run.beforeTool('t', { a: [{ q: 'ls' }] })).toMatchObject({ verdict: 'ALLOW', source: 'local' });
    expect(server.questions).toEqual([]);
  });

  it.each<[string, Partial<BundledRule>]>([
    ['requires the server', { askServer: true }],
    ['reads tags that are not available here', { conditionType: 'enduser_tag', conditionConfig: { tag: 'vip' } }],
    ['fails here', { conditionType: 'expression', conditionConfig: { expression: 'args.a + 1 > 1' } }],
  ])('asks the server if a rule %s', async (_, rule) => {
    const server = new TestPlatform();
    const run = await (await aGuard(server, [aBundled({ ...rule, onMissing: 'block' })])).startRun();
    expect(await run.beforeTool('t', { a: 'x' })).toMatchObject({ verdict: 'ALLOW', source: 'remote' });
  });
});

const WRAPPERS: readonly ((value: unknown) => unknown)[] = [
  (value) => [value],
  (value) => ({ a: value }),
  (value) => [Number.NaN, value],
  (value) => ({ a: 1n, b: value }),
  (value) => new Map([['a', value]]),
  (value) => new Set([value]),
  (value) => ({ toJSON: () => value }),
  (value) => Object.assign(new Date(0), { value }),
  (value) => Object.assign(Object.create({ inherited: value }), { own: 1 }),
];

describe('hiding content from local rules', () => {
  it('never helps: forbidden content is refused or the server is asked, however it is wrapped', () => {
    const rule = aBundled({
      conditionType: 'tool_argument',
      conditionConfig: { operator: 'contains', value: 'rm -rf' },
    });
    const rules = catalogRules.compile([rule]);
    const call: Omit<LocalCall, 'args'> = {
      ...{
        phase: 'tool.before' as const,
        toolName: 't',
        toolTags: [],
        callId: 'c',
        runId: 'r',
        result: undefined,
        now: 0,
      },
      ...{ cutResult: false, actor: undefined, subjects: [], metrics: {}, runTags: {} },
    };
    const anyWrapping = fc.array(fc.constantFrom(...WRAPPERS), { maxLength: 40 });
    fc.assert(
      fc.property(fc.anything({ withMap: true, withSet: true }), anyWrapping, (beside, wrappers) => {
        const hidden = wrappers.reduce((value, wrap) => wrap(value), 'rm -rf /' as unknown);
        const { refusal, ask } = rules.judge({ ...call, args: { beside, hidden } });
        expect(refusal !== null || ask).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a rule that is too expensive here', () => {
  const dear = aBundled({
    ...{ conditionType: 'tool_argument', conditionConfig: { operator: 'regex', value: '[\\p{L}]{1,400}[0-9]' } },
  });
  const args = { text: 'x'.repeat(50_000) };

  it('is left to the server; while that is unavailable, its own setting applies', async () => {
    const server = new TestPlatform();
    const run = await (await aGuard(server, [dear])).startRun();
    expect(await run.beforeTool('search', args)).toMatchObject({ verdict: 'ALLOW', source: 'remote' });
    expect(await run.beforeTool('search', { text: 'abc' })).toMatchObject({ verdict: 'ALLOW', source: 'local' });
    const guarded = await aGuard(new TestPlatform(), [{ ...dear, onUnavailable: 'block' }]);
    expect(await (await guarded.startRun()).beforeTool('search', args)).toMatchObject({ verdict: 'BLOCK' });
  });
});

describe('a canary rule', () => {
  const rollout = (by: RolloutUnit) => ({ percent: 50, by });
  const aCall = (fields: Partial<LocalCall>): LocalCall => ({
    ...{ phase: 'tool.before', toolName: 't', toolTags: [], callId: 'c', runId: 'r', args: {}, result: undefined },
    ...{ now: 0, cutResult: false, actor: undefined, subjects: [], metrics: {}, runTags: {}, ...fields },
  });
  const judge = (by: RolloutUnit, call: Partial<LocalCall>) =>
    catalogRules
      .compile([aBundled({ id: 'canary', mode: 'shadow', askServer: true, rollout: rollout(by) })])
      .judge(aCall(call));

  it('is decided here as on the server, for any unit', () => {
    const anyCall = fc.record({
      ...{ runId: fc.uuid(), sessionId: fc.uuid(), ancestors: fc.array(fc.uuid(), { maxLength: 4 }) },
      actor: fc.record({ externalId: fc.string({ minLength: 1 }) }),
    });
    const anyUnit = fc.constantFrom<RolloutUnit>('tree', 'run', 'session', 'actor');
    fc.assert(
      fc.property(anyUnit, anyCall, (by, call) => {
        const { refusal, ask } = judge(by, call);
        const onServer = placeInRollout('canary', rollout(by), { agentId: 'a', ...call });
        expect([refusal !== null, ask]).toEqual([onServer === 'in', false]);
      }),
    );
  });

  it.each<[RolloutUnit]>([['tree'], ['session'], ['actor'], ['agent']])(
    'by %s asks while its unit is unknown',
    (by) => {
      expect(judge(by, {})).toMatchObject({ refusal: null, ask: true });
    },
  );
});
