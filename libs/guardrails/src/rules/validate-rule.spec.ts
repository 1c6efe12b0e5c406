import { aRule } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { validateDraft, validatePatch } from './validate-rule.ts';

const DRAFT = {
  name: 'Errors',
  conditionType: 'error_rate_threshold',
  conditionConfig: { threshold: 20 },
  actionType: 'pause_agent',
};
const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const webhookRule = aRule({
  actionType: 'notify_webhook',
  actionConfig: { url: 'https://hooks.example/in', secret: SECRET, headers: { authorization: 'Bearer abcdefghij' } },
});

const detailsOf = (result: ReturnType<typeof validateDraft>) => (result.ok ? [] : (result.problem.details ?? []));
const valueOfOk = (result: ReturnType<typeof validateDraft>) => (result.ok ? result.value : result.problem);

describe('validateDraft', () => {
  it('fills in the defaults of the rule, condition and action', () => {
    expect(validateDraft(DRAFT)).toEqual({
      ok: true,
      value: {
        ...DRAFT,
        enabled: true,
        conditionConfig: { threshold: 20, windowMinutes: 5, of: 'events', minEvents: 1 },
        actionConfig: {},
        cooldownMinutes: 15,
        dryRun: false,
        direction: 'both',
        priority: 0,
        mode: 'enforce',
        onMissing: 'allow',
        onUnavailable: 'allow',
      },
    });
  });

  it.each([
    ['unknown key', { ...DRAFT, cooldown: 5 }, 'cooldown', 'did you mean "cooldownMinutes"'],
    ['unknown config key', { ...DRAFT, conditionConfig: { treshold: 5 } }, 'conditionConfig.treshold', '"threshold"'],
    ['config out of range', { ...DRAFT, conditionConfig: { threshold: 500 } }, 'conditionConfig.threshold', '100'],
    ['unknown condition', { ...DRAFT, conditionType: 'error_rate' }, 'conditionType', '"error_rate_threshold"'],
    ['unknown action', { ...DRAFT, actionType: 'pause' }, 'actionType', '"pause_agent"'],
    ['missing config', { ...DRAFT, actionType: 'downgrade_model' }, 'actionConfig.targetModel', 'is required'],
    ['missing name', { ...DRAFT, name: undefined }, 'name', 'is required'],
    ['empty name', { ...DRAFT, name: '  ' }, 'name', 'must not be empty'],
    [
      'config of a wrong type',
      { ...DRAFT, conditionConfig: [] },
      'conditionConfig',
      'must be a JSON object, not a list',
    ],
    ['a long cooldown', { ...DRAFT, cooldownMinutes: 1441 }, 'cooldownMinutes', '1440'],
    ['NUL', { ...DRAFT, name: 'a\u0000b' }, 'name', 'NUL'],
    ['a lone surrogate', { ...DRAFT, description: '\ud800' }, 'description', 'surrogate'],
    [
      'infinity',
      { ...DRAFT, conditionConfig: { threshold: Number.POSITIVE_INFINITY } },
      'conditionConfig.threshold',
      '',
    ],
    [
      'a masked secret',
      { ...DRAFT, actionType: 'agentgate_policy', actionConfig: { agentgateUrl: 'https://a.b', apiKey: '***cdef' } },
      'actionConfig.apiKey',
      'masked',
    ],
  ])('rejects %s, naming path and fix', (_what, body, path, fix) => {
    expect(detailsOf(validateDraft(body))).toContainEqual({ path, message: expect.stringContaining(fix) });
  });

  it.each([null, 1, 'x', [], undefined])('rejects %p', (body) => {
    expect(validateDraft(body)).toMatchObject({ ok: false, problem: { status: 400, error: 'Validation failed' } });
  });

  const DECIDES = {
    name: 'No deploys',
    conditionType: 'tool_name',
    conditionConfig: { value: 'deploy' },
    actionType: 'block',
    selector: { tools: ['deploy'] },
  };

  it('accepts rules about calls', () => {
    expect(valueOfOk(validateDraft({ ...DECIDES, mode: 'shadow', onMissing: 'block' }))).toMatchObject({
      mode: 'shadow',
      onMissing: 'block',
      onUnavailable: 'allow',
      selector: { tools: ['deploy'] },
    });
    expect(valueOfOk(validateDraft({ ...DECIDES, selector: null, policyId: null }))).not.toHaveProperty('selector');
    expect(validateDraft({ ...DECIDES, conditionType: 'error_rate_threshold', conditionConfig: {} }).ok).toBe(true);
  });

  it.each([
    [
      'a tick condition with a decision action',
      { conditionType: 'health_score_threshold', conditionConfig: {} },
      'conditionType',
      'notify_webhook',
    ],
    [
      'a call condition with a stream action',
      { actionType: 'pause_agent', selector: undefined },
      'conditionType',
      'block',
    ],
    [
      'a selector without a decision action',
      { conditionType: 'cost_limit', conditionConfig: {}, actionType: 'pause_agent' },
      'selector',
      'remove it',
    ],
    [
      'a phase the condition does not support',
      { selector: { phases: ['tool.before', 'llm.before'] } },
      'selector.phases.1',
      'only asked in tool.before, tool.after',
    ],
    [
      'an action that cannot decide an answer of a model',
      {
        ...{ conditionType: 'expression', conditionConfig: { expression: 'true' }, actionType: 'require_approval' },
        selector: { phases: ['llm.before', 'llm.after'] },
      },
      'selector.phases.1',
      'use one of block, terminate_run, allow',
    ],
    [
      'a condition that cannot be asked about an answer of a model',
      { selector: { phases: ['llm.after'] } },
      'selector.phases.0',
      'only asked in tool.before, tool.after',
    ],
    ['an unknown phase', { selector: { phases: ['tool.during'] } }, 'selector.phases.0', ''],
    ['an empty selector list', { selector: { tools: [] } }, 'selector.tools', ''],
    ['an unknown selector key', { selector: { tool: ['x'] } }, 'selector.tool', 'did you mean "tools"'],
    ['an unknown mode', { mode: 'enforced' }, 'mode', ''],
    [
      'an invalid pattern',
      { conditionType: 'tool_argument', conditionConfig: { operator: 'regex', value: '(' } },
      'conditionConfig.value',
      'RE2',
    ],
    [
      'a deeply nested mistake',
      {
        conditionType: 'any',
        conditionConfig: { conditions: [{ type: 'not', config: { condition: { type: 'subject', config: {} } } }] },
      },
      'conditionConfig.conditions.0.config.condition.config.subjectType',
      'is required',
    ],
  ])('rejects %s', (_what, fields, path, fix) => {
    expect(detailsOf(validateDraft({ ...DECIDES, ...fields }))).toContainEqual({
      path,
      message: expect.stringContaining(fix),
    });
  });

  it('blocks a call whose approval cannot be requested, unless the draft says otherwise', () => {
    const draft = { name: 'n', conditionType: 'tool_name', conditionConfig: { value: 'pay' }, actionConfig: {} };
    const read = (fields: object) => validateDraft({ ...draft, ...fields });
    const asks = { actionType: 'require_approval' };
    expect(read(asks)).toMatchObject({ ok: true, value: { onUnavailable: 'block' } });
    expect(read({ ...asks, onUnavailable: 'allow' })).toMatchObject({ value: { onUnavailable: 'allow' } });
    expect(read({ actionType: 'block' })).toMatchObject({ value: { onUnavailable: 'allow' } });
    const blocking = aRule({ ...draft, actionType: 'block', onUnavailable: 'allow' });
    expect(validatePatch(blocking, asks)).toMatchObject({ value: { onUnavailable: 'block' } });
    expect(validatePatch({ ...blocking, ...asks }, { name: 'm' })).toMatchObject({ value: { onUnavailable: 'allow' } });
  });

  it('reports all problems at once', () => {
    const details = detailsOf(validateDraft({ ...DRAFT, name: '', conditionConfig: { threshold: -1, x: 1 } }));
    expect(details.map(({ path }) => path)).toEqual(['name', 'conditionConfig.threshold', 'conditionConfig.x']);
  });

  it.each([
    ['args.a.all(x, !(x in args.b))', false],
    ['args.a.exists(x, x.y in (args.c ? args.b : args.a))', false],
    ['args.a.exists(x, x in ["a", "b"] || x in tags)', true],
    ['"a" in args.b', true],
  ])('rejects a nested iteration: %s', (expression, isTaken) => {
    const conditionConfig = { conditions: [{ type: 'expression', config: { expression } }] };
    const draft = { name: 'r', conditionType: 'any', conditionConfig, actionType: 'block', actionConfig: {} };
    const answer = validateDraft(draft);
    expect(answer.ok).toBe(isTaken);
    if (answer.ok) return;
    expect(answer.problem.details).toEqual([
      { path: 'conditionConfig.conditions.0.config.expression', message: expect.stringContaining('another walk') },
    ]);
  });

  it('handles extreme nesting', () => {
    let deep: unknown = {};
    for (let i = 0; i < 100_000; i++) deep = { deep };
    expect(detailsOf(validateDraft({ ...DRAFT, conditionConfig: deep }))[0]?.message).toContain('nested');
  });
});

describe('validatePatch', () => {
  it('keeps fields that are not mentioned', () => {
    const rule = aRule({ agentId: 'agent-7' });
    expect(valueOfOk(validatePatch(rule, { enabled: false }))).toMatchObject({
      name: rule.name,
      enabled: false,
      agentId: 'agent-7',
      conditionConfig: rule.conditionConfig,
    });
  });

  it('clears the agent with null', () => {
    expect(valueOfOk(validatePatch(aRule({ agentId: 'agent-7' }), { agentId: null }))).not.toHaveProperty('agentId');
  });

  it('validates like a draft', () => {
    expect(detailsOf(validatePatch(aRule(), { conditionConfig: { threshold: 500 } }))[0]?.path).toBe(
      'conditionConfig.threshold',
    );
    expect(detailsOf(validatePatch(aRule(), { colldownMinutes: 1 }))[0]?.path).toBe('colldownMinutes');
  });

  it('accepts a whole rule as it was read', () => {
    const rule = aRule();
    expect(validatePatch(rule, { ...rule, name: 'New' })).toMatchObject({ ok: true, value: { name: 'New' } });
  });

  it('starts a new type from its defaults', () => {
    expect(valueOfOk(validatePatch(aRule(), { conditionType: 'cost_limit' }))).toMatchObject({
      conditionConfig: { maxCostUsd: 10, scope: 'daily' },
    });
  });

  it('keeps a stored secret that is sent back masked', () => {
    const result = validatePatch(webhookRule, {
      actionConfig: {
        url: webhookRule.actionConfig.url,
        secret: `***${SECRET.slice(-4)}`,
        headers: { authorization: '***ghij' },
      },
    });
    expect(valueOfOk(result)).toMatchObject({ actionConfig: webhookRule.actionConfig });
  });

  it.each(['https://evil.example/hook', 'https://hooks.example/other'])(
    'requires the secrets again if the address becomes %s',
    (url) => {
      const sent = { url, secret: `***${SECRET.slice(-4)}`, headers: { authorization: '***ghij' } };
      const details = detailsOf(validatePatch(webhookRule, { actionConfig: sent }));
      const paths = new Set(details.map(({ path }) => path));
      expect([...paths]).toEqual(['actionConfig.secret', 'actionConfig.headers.authorization']);
      const whole = { url, secret: SECRET, headers: { authorization: 'Bearer new' } };
      expect(valueOfOk(validatePatch(webhookRule, { actionConfig: whole }))).toMatchObject({ actionConfig: whole });
    },
  );

  it('rejects a mask that does not match the stored secret', () => {
    const result = validatePatch(webhookRule, { actionConfig: { url: 'https://hooks.example', secret: '***zzzz' } });
    expect(detailsOf(result).map(({ path }) => path)).toContain('actionConfig.secret');
  });

  it.each([null, [], 'x'])('rejects %p', (body) => expect(validatePatch(aRule(), body).ok).toBe(false));
});

describe('a rollout', () => {
  const CALL_RULE = { name: 'x', conditionType: 'tool_name', conditionConfig: { value: '*' }, actionType: 'block' };
  const CANARY = { ...CALL_RULE, mode: 'canary' };

  it.each([0, 101, Number.NaN, 0.001, 12.34567, '10', -1])('of %p percent is rejected', (percent) => {
    expect(detailsOf(validateDraft({ ...CANARY, rollout: { percent } }))).toMatchObject([
      { path: 'rollout.percent', message: expect.stringContaining('from 0.01 to 100') },
    ]);
  });

  it.each([
    ['canary without rollout', CANARY, 'rollout'],
    ['rollout without canary', { ...CALL_RULE, rollout: { percent: 5 } }, 'rollout'],
    ['an unknown unit', { ...CANARY, rollout: { percent: 5, by: 'customer' } }, 'rollout.by'],
    ['a dry run', { ...CANARY, dryRun: true, rollout: { percent: 5 } }, 'dryRun'],
    ['a unit that events lack', { ...DRAFT, mode: 'canary', rollout: { percent: 5, by: 'run' } }, 'rollout.by'],
    ['rates of a rule on events', { ...DRAFT, rollback: { maxStopRate: 0.1 } }, 'rollback.maxStopRate'],
    ['a rollback without bound', { ...CALL_RULE, rollback: { minAsked: 5 } }, 'rollback.maxStopRate'],
  ])('is rejected: %s', (_name, draft, path) => {
    expect(detailsOf(validateDraft(draft))).toMatchObject([{ path }]);
  });

  it('selects by run tree, and by agent if the action concerns agents', () => {
    const rollout = { percent: 0.01 };
    expect(valueOfOk(validateDraft({ ...CANARY, rollout }))).toMatchObject({ rollout: { percent: 0.01, by: 'tree' } });
    expect(valueOfOk(validateDraft({ ...DRAFT, mode: 'canary', rollout }))).toMatchObject({
      rollout: { by: 'agent' },
    });
  });

  it('ends with a change to another mode, and replaces the older dryRun', () => {
    const stored = aRule({ ...CALL_RULE, actionConfig: {}, mode: 'canary', rollout: { percent: 5, by: 'tree' } });
    expect(valueOfOk(validatePatch(stored, { mode: 'enforce' }))).not.toHaveProperty('rollout');
    expect(valueOfOk(validatePatch(stored, { priority: 1 }))).toMatchObject({ rollout: { percent: 5 } });
    const dry = aRule({ ...CALL_RULE, actionConfig: {}, dryRun: true });
    expect(valueOfOk(validatePatch(dry, { mode: 'canary', rollout: { percent: 5 } }))).toMatchObject({ dryRun: false });
  });
});
