import { type DecisionPhase, RuleBundle } from '@agentlens/contracts';
import { DEFAULT_BREAKER_LIMITS, isInRollout } from '@agentlens/guardrails';
import { aRule } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { type BundleFacts, bundleOf } from './rule-bundle.ts';

const NOON_MS = Date.parse('2026-03-01T12:00:00.000Z');

const noShell = aRule({
  id: 'no-shell',
  conditionType: 'tool_name',
  conditionConfig: { value: 'shell*' },
  actionType: 'block',
  actionConfig: {},
});

function aBundle(facts: Partial<BundleFacts> = {}): RuleBundle {
  const nothing = { agentId: 'bot', agent: null, rules: [], breakerLimits: null, hasBudgets: false, nowMs: NOON_MS };
  return bundleOf({ ...nothing, ...facts });
}

const ids = (bundle: RuleBundle) => bundle.rules.map(({ id }) => id);

describe('a rule bundle', () => {
  it('contains the active decision rules of the agent and conforms to the contract', () => {
    const rules = [
      noShell,
      { ...noShell, id: 'of-another', agentId: 'other' },
      { ...noShell, id: 'off', mode: 'off' as const },
      { ...noShell, id: 'disabled', enabled: false },
      aRule({ id: 'stream' }),
    ];
    const bundle = aBundle({ rules });
    expect(RuleBundle.parse(JSON.parse(JSON.stringify(bundle)))).toMatchObject({ agentId: 'bot', askAlways: [] });
    expect(ids(bundle)).toEqual(['no-shell']);
  });

  it('leaves out what no agent asks about', () => {
    const expression = { conditionType: 'expression', conditionConfig: { expression: 'true' } };
    const about = (id: string, ...phases: DecisionPhase[]) => ({ ...noShell, ...expression, id, selector: { phases } });
    const rules = [about('answers', 'llm.after'), about('both', 'llm.before', 'llm.after')];
    expect(aBundle({ rules }).rules.map(({ id, phases }) => [id, phases])).toEqual([['both', ['llm.before']]]);
  });

  it('resolves which agents a rule applies to', () => {
    const rules = [{ ...noShell, selector: { agentTagsAny: ['prod'] } }];
    expect(ids(aBundle({ rules, agent: { tags: ['Prod'] } }))).toEqual(['no-shell']);
    expect(ids(aBundle({ rules, agent: { tags: ['test'] } }))).toEqual([]);
    const slugs = [{ ...noShell, selector: { agentSlugsAny: ['B*'] } }];
    expect([ids(aBundle({ rules: slugs })), ids(aBundle({ rules: slugs, agentId: 'other' }))]).toEqual([
      ...[['no-shell'], []],
    ]);
  });

  it('makes the agent ask the server if it has not registered yet and its tags are unknown', () => {
    const rules = [{ ...noShell, selector: { agentTagsAny: ['prod'], tools: ['shell'] } }];
    const bundle = RuleBundle.parse(JSON.parse(JSON.stringify(aBundle({ rules }))));
    expect(bundle.rules).toMatchObject([{ id: 'no-shell', askServer: true, selector: { tools: ['shell'] } }]);
    const known = aBundle({ rules, agent: { tags: ['prod'] } }).rules[0];
    expect(known).not.toHaveProperty('askServer');
    const ofOthers = [{ ...noShell, selector: { agentTagsAny: ['prod'], agentSlugsAny: ['x*'] } }];
    expect(ids(aBundle({ rules: ofOthers }))).toEqual([]);
  });

  it('makes the agent ask about every tool call if a rule counts calls', () => {
    const counting = { ...noShell, conditionType: 'repeated_call', conditionConfig: {} };
    expect(aBundle({ rules: [counting] }).askAlways).toEqual(['tool.before', 'tool.after']);
  });

  it('makes every agent ask about every tool call if a rule follows data or counts calls across agents', () => {
    const conditionConfig = { after: [{ tools: ['read_*'] }], label: 'pii' };
    const flow = { ...noShell, conditionType: 'data_flow', conditionConfig };
    for (const rule of [flow, { ...flow, agentId: 'other' }, { ...flow, selector: { agentSlugsAny: ['x*'] } }]) {
      expect(aBundle({ rules: [rule] }).askAlways).toEqual(['tool.before', 'tool.after']);
    }
    for (const scope of ['tree', 'session', 'tenant']) {
      const wide = { conditionType: 'max_calls', conditionConfig: { max: 3, scope }, agentId: 'other' };
      expect(aBundle({ rules: [{ ...noShell, ...wide }] }).askAlways).toEqual(['tool.before', 'tool.after']);
    }
    const own = { conditionType: 'max_calls', conditionConfig: { max: 3, scope: 'agent' }, agentId: 'other' };
    expect(aBundle({ rules: [{ ...noShell, ...own }] }).askAlways).toEqual([]);
    expect(ids(aBundle({ rules: [{ ...flow, agentId: 'other' }] }))).toEqual([]);
    expect(aBundle({ rules: [{ ...flow, mode: 'off' }] }).askAlways).toEqual([]);
  });

  it('makes the agent ask about model calls if there are budgets, and about both kinds of calls if limits are set', () => {
    expect(aBundle({ hasBudgets: true }).askAlways).toEqual(['llm.before']);
    const limited = aBundle({ breakerLimits: DEFAULT_BREAKER_LIMITS });
    expect(limited).toMatchObject({ askAlways: ['tool.before', 'llm.before'], breakerLimits: DEFAULT_BREAKER_LIMITS });
  });

  it('sends a canary rule with its rollout, and lets clients that do not know it ask', () => {
    const canary = { ...noShell, mode: 'canary' as const, rollout: { percent: 5, by: 'tree' as const } };
    const sent = { mode: 'shadow', askServer: true };
    expect(aBundle({ rules: [canary] }).rules).toMatchObject([{ ...sent, rollout: { percent: 5, by: 'tree' } }]);
    const unknown = { ...canary, selector: { agentTagsAny: ['prod'] } };
    const [rule] = aBundle({ rules: [unknown] }).rules;
    expect(rule).toMatchObject(sent);
    expect(rule).not.toHaveProperty('rollout');
  });

  it('resolves a rollout by agent', () => {
    const modes = Array.from({ length: 30 }, (_, n) => {
      const rollout = { percent: 50, by: 'agent' as const };
      const [rule] = aBundle({ agentId: `bot-${n}`, rules: [{ ...noShell, mode: 'canary', rollout }] }).rules;
      const expected = isInRollout('no-shell', rollout, `bot-${n}`) ? 'enforce' : 'shadow';
      expect([rule?.mode, rule?.askServer]).toEqual([expected, undefined]);
      return rule?.mode;
    });
    expect(new Set(modes).size).toBe(2);
  });

  it('leaves out a suspended rule until its suspension ends', () => {
    const until = new Date(NOON_MS + 1).toISOString();
    const rules = [{ ...noShell, suspended: { until, reason: 'incident' } }];
    expect([ids(aBundle({ rules })), ids(aBundle({ rules, nowMs: NOON_MS + 1 }))]).toEqual([[], ['no-shell']]);
  });
});
