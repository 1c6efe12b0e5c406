import { eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import type { AgentLensClient } from '../client.ts';
import { selectorRules } from '../guard/applicable.ts';
import type { BundledRule, LocalRules, RuleBundle } from '../guard/local-rules.ts';
import type { AgentLensOptions } from '../options.ts';
import { settle, TestServer } from '../testing/index.ts';
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
  server: TestServer,
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
  it('a call no rule is about costs no question', async () => {
    const server = new TestServer();
    const client = await aGuard(server, [aBundled({ selector: { tools: ['shell*'] } })], { rules });
    const run = await client.startRun();
    expect(await run.beforeTool('search', {})).toMatchObject({ verdict: 'ALLOW', source: 'local' });
    expect(server.questions).toEqual([]);
  });

  it('a phase the server wants to hear of is asked about all the same', async () => {
    const server = new TestServer();
    const run = await (await aGuard(server, [], { rules, bundle: { askAlways: ['tool.before'] } })).startRun();
    await run.beforeTool('search', {});
    await run.afterTool('search', {}, 1);
    expect(server.questions.map(({ phase }) => phase)).toEqual(['tool.before']);
  });

  it('a rule that needs more is decided by the server, and while that is away by itself', async () => {
    const server = new TestServer();
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

  it('rules guard on while the server is away and their time is over', async () => {
    const server = new TestServer();
    const strict = aBundled({ onUnavailable: 'block', conditionType: 'unknown', selector: { toolTagsAny: ['money'] } });
    const client = await aGuard(server, [strict], { rules, bundle: { ttlSeconds: 60 } });
    const run = await client.startRun();
    server.fail('down');
    await server.clock.advance(3_600_000);
    expect(await run.beforeTool('pay', {}, ['MONEY'])).toMatchObject({ verdict: 'BLOCK', source: 'fallback' });
    expect(await run.beforeTool('read', {})).toMatchObject({ verdict: 'ALLOW', source: 'fallback' });
  });

  it('a newer bundle is used as soon as it is offered', async () => {
    const server = new TestServer();
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

  it('a bundle that says the same is neither sent nor made ready again, and goes on guarding', async () => {
    const server = new TestServer();
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

  it('a bundle that was tampered with is not used, and the server is asked', async () => {
    const server = new TestServer();
    const warnings: string[] = [];
    Object.assign(server, { apiKey: 'another key' });
    server.offerBundle({ version: 1, ttlSeconds: 600, askAlways: [], rules: [] });
    const client = await server.client({ rules, logger: { warn: (message) => warnings.push(message) } });
    await eventually(() => expect(warnings).toEqual(['agentlens: the rule bundle was not used: bad signature']));
    expect(await (await client.startRun()).beforeTool('t', {})).toMatchObject({ source: 'remote' });
  });
});

describe('the catalog', () => {
  it('blocks in this process what a rule forbids, with the words of the server', async () => {
    const server = new TestServer();
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

  it('ends the run where a rule does', async () => {
    const run = await (await aGuard(new TestServer(), [aBundled({ actionType: 'terminate_run' })])).startRun();
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE', source: 'local' });
  });

  it('leaves humans and changed arguments to the server', async () => {
    const server = new TestServer();
    const approval = aBundled({ actionType: 'require_approval', actionConfig: {} });
    const run = await (await aGuard(server, [approval])).startRun();
    expect(await run.beforeTool('t', {})).toMatchObject({ source: 'remote' });
  });

  it('only records what a rule in shadow mode would do', async () => {
    const run = await (await aGuard(new TestServer(), [aBundled({ mode: 'shadow' })])).startRun();
    expect(await run.beforeTool('t', {})).toMatchObject({
      verdict: 'ALLOW',
      source: 'local',
      evaluatedRules: [{ ruleId: 'r1', matched: true }],
    });
  });

  it('tells the server of every call where some rule counts calls', async () => {
    const server = new TestServer();
    const counting = aBundled({
      ...{ conditionType: 'sequence', conditionConfig: { mustHaveCalled: [{ tools: ['login'] }] } },
      selector: { tools: ['pay'] },
    });
    const run = await (await aGuard(server, [counting])).startRun();
    expect(await run.beforeTool('login', {})).toMatchObject({ source: 'remote' });
  });
});

describe('a rule that would cost too much here', () => {
  const dear = aBundled({
    ...{ conditionType: 'tool_argument', conditionConfig: { operator: 'regex', value: '[\\p{L}]{1,400}[0-9]' } },
  });
  const args = { text: 'x'.repeat(50_000) };

  it('is left to the server, and while that is away does what it says', async () => {
    const server = new TestServer();
    const run = await (await aGuard(server, [dear])).startRun();
    expect(await run.beforeTool('search', args)).toMatchObject({ verdict: 'ALLOW', source: 'remote' });
    expect(await run.beforeTool('search', { text: 'abc' })).toMatchObject({ verdict: 'ALLOW', source: 'local' });
    const guarded = await aGuard(new TestServer(), [{ ...dear, onUnavailable: 'block' }]);
    expect(await (await guarded.startRun()).beforeTool('search', args)).toMatchObject({ verdict: 'BLOCK' });
  });
});
