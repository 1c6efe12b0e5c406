import { aRule } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { activate } from '../rules/active-rule.ts';
import { readPolicy } from './read-policy.ts';

const RULE = {
  name: 'No deploys',
  priority: 5,
  selector: { phase: 'tool.before', tool: { name: 'deploy*' } },
  condition: { kind: 'toolName', op: 'glob', value: 'deploy*' },
  effect: { type: 'block', reason: 'Not by agents' },
};
const POLICY = { name: 'House rules', agentSelector: { anyOfSlugs: ['support'], allOfTags: ['prod'] } };
const importOf = (rule: object = {}, policy: object = {}) =>
  readPolicy({ policy: { ...POLICY, ...policy }, rules: [{ ...RULE, ...rule }] }, 'policy-1');
const draftOf = (rule: object = {}, policy: object = {}) => {
  const read = importOf(rule, policy);
  if (!read.ok) throw new Error(JSON.stringify(read.problem));
  return read.value[0];
};
const detailsOf = (rule: object = {}, policy: object = {}) => {
  const read = importOf(rule, policy);
  return read.ok ? [] : (read.problem.details ?? []);
};

describe('readPolicy', () => {
  it('translates rules into drafts', () => {
    expect(draftOf()).toMatchObject({
      name: 'No deploys',
      enabled: true,
      mode: 'enforce',
      priority: 5,
      conditionType: 'tool_name',
      conditionConfig: { operator: 'glob', value: 'deploy*' },
      actionType: 'block',
      actionConfig: { message: 'Not by agents' },
      onMissing: 'allow',
      policyId: 'policy-1',
      selector: { phases: ['tool.before'], tools: ['deploy*'], agentSlugsAny: ['support'], agentTagsAll: ['prod'] },
    });
  });

  it("applies the policy's settings to all of its rules", () => {
    expect(draftOf({}, { mode: 'shadow', enabled: false, onMissingDefault: 'block' })).toMatchObject({
      mode: 'shadow',
      enabled: false,
      onMissing: 'block',
    });
    expect(draftOf({ onMissing: 'allow' }, { onMissingDefault: 'hitl' })).toMatchObject({ onMissing: 'allow' });
    expect(draftOf({ onMissing: 'hitl' })).toMatchObject({ onMissing: 'block' });
  });

  it.each([
    ['hitl', 'require_approval', { title: 'Not by agents' }],
    ['allow', 'allow', {}],
  ])('translates effect %s into %s', (type, actionType, actionConfig) => {
    expect(draftOf({ effect: { type, reason: 'Not by agents' } })).toMatchObject({ actionType, actionConfig });
  });

  it.each<[object, string, object]>([
    [{ kind: 'toolName', op: 'in', value: ['a*', 'b'] }, 'tool_name', { operator: 'in', value: ['a*', 'b'] }],
    [{ kind: 'toolTag', op: 'has', tag: 'write' }, 'tool_tag', { operator: 'anyOf', tags: ['write'] }],
    [{ kind: 'toolTag', op: 'allOf', tags: ['a', 'b'] }, 'tool_tag', { operator: 'allOf' }],
    [{ kind: 'toolArg', type: 'number', op: 'gt', path: 'amount', value: 5 }, 'tool_argument', { type: 'number' }],
    [{ kind: 'toolArg', op: 'exists', path: 'x' }, 'tool_argument', { operator: 'exists', path: 'x' }],
    [{ kind: 'toolArg', type: 'string', op: 'regex', value: 'a+' }, 'tool_argument', { operator: 'regex' }],
    [{ kind: 'enduserTag', op: 'hasValue', tag: 't', value: 'v' }, 'enduser_tag', { values: ['v'] }],
    [
      { kind: 'sequence', mustHaveCalled: ['verify_*', { by: 'toolTag', tags: ['check'] }] },
      'sequence',
      { mustHaveCalled: [{ tools: ['verify_*'] }, { toolTagsAny: ['check'] }] },
    ],
    [
      { kind: 'maxCalls', selector: { by: 'toolName', patterns: ['s*'] }, max: 5 },
      'max_calls',
      { tools: ['s*'], max: 5, per: 'run', appliesTo: 'every_call' },
    ],
    [
      { kind: 'maxCalls', selector: { by: 'toolTag', tags: ['x'] }, max: 5, windowSeconds: 90, per: 'agent_user' },
      'max_calls',
      { toolTagsAny: ['x'], per: 'agent_user', windowMinutes: 2 },
    ],
    [
      {
        kind: 'metricWindow',
        scope: 'agent',
        metric: { kind: 'inbuilt', key: 'bytes_out' },
        aggregate: 'sum',
        windowSeconds: 3600,
        op: 'gte',
        value: 10,
      },
      'metric_window',
      { metric: 'bytes_out', scope: 'agent', windowMinutes: 60, operator: 'gte' },
    ],
    [
      {
        kind: 'timeGate',
        timezone: { source: 'enduserTag', tag: 'tz', fallback: 'org' },
        windows: [{ days: ['mon'], start: '09:00', end: '17:00' }],
      },
      'time_gate',
      { timeZone: 'UTC', timeZoneTag: 'tz' },
    ],
    [{ kind: 'requireSubject', subjectType: 'patient' }, 'subject', { subjectType: 'patient' }],
    [{ kind: 'signal', key: 'risk', op: 'gt', value: 0.5 }, 'signal', { operator: 'gt' }],
    [
      {
        kind: 'sensitiveData',
        target: 'toolArg',
        op: 'anyOf',
        detectors: [{ detector: 'email', subCondition: { check: 'domain', op: 'neq', value: 'corp.example' } }],
      },
      'sensitive_data',
      { detectors: [{ detector: 'email', check: 'domain', operator: 'neq', value: 'corp.example' }] },
    ],
    [
      {
        kind: 'and',
        all: [
          { kind: 'toolTag', op: 'has', tag: 'a' },
          { kind: 'not', not: { kind: 'requireSubject', subjectType: 's' } },
        ],
      },
      'all',
      { conditions: [{ type: 'tool_tag' }, { type: 'not', config: { condition: { type: 'subject' } } }] },
    ],
    [{ kind: 'or', any: [{ kind: 'requireSubject', subjectType: 's' }] }, 'any', { conditions: [{ type: 'subject' }] }],
  ])('translates %j into a rule that can be activated', (condition, conditionType, conditionConfig) => {
    const draft = draftOf({ condition });
    expect(draft).toMatchObject({ conditionType, conditionConfig });
    expect(activate(aRule({ ...draft }))).toMatchObject({ ok: true, value: { cadence: 'call' } });
  });

  it('evaluates execution times after the call', () => {
    const condition = { kind: 'executionTime', scope: 'total', op: 'neq', ms: 5 };
    const selector = { phase: 'tool.after', tool: {} };
    expect(draftOf({ condition, selector })).toMatchObject({
      conditionType: 'not',
      selector: { phases: ['tool.after'] },
    });
    const plain = { ...condition, op: 'gt' };
    expect(draftOf({ condition: plain, selector })).toMatchObject({ conditionType: 'execution_time' });
    expect(detailsOf({ condition: plain })).toEqual([
      { path: 'rules.0.selector.phase', message: 'this condition is only asked in tool.after' },
    ]);
  });

  it('explains published examples that fail their own schema', () => {
    const leaf = { kind: 'toolTag', op: 'has', tag: 'a' };
    expect(detailsOf({ condition: { type: 'and', all: [leaf] } })).toEqual([
      { path: 'rules.0.condition.kind', message: 'is required: write "kind": "and" in place of "type"' },
    ]);
    expect(detailsOf({ condition: { kind: 'sequence', mustHaveCalled: ['a'], mustNotHaveCalled: [] } })).toContainEqual(
      {
        path: 'rules.0.condition.mustNotHaveCalled',
        message: 'must not be empty: leave it out if nothing is meant',
      },
    );
  });

  it.each<[object, string, string]>([
    [{ surprise: 1 }, 'rules.0.surprise', 'unknown key'],
    [{ selector: { phase: 'tool.before' } }, 'rules.0.selector.tool', 'is required'],
    [{ selector: { phase: 'llm.before', tool: {} } }, 'rules.0.selector.phase', ''],
    [{ effect: { type: 'deny' } }, 'rules.0.effect.type', ''],
    [{ condition: { kind: 'toolNam', op: 'eq', value: 'x' } }, 'rules.0.condition.kind', 'did you mean "toolName"'],
    [{ condition: { kind: 'toolName', op: 'eq', value: 'x', extra: 1 } }, 'rules.0.condition.extra', 'unknown key'],
    [
      { condition: { kind: 'and', all: [{ kind: 'toolTag', op: 'has' }] } },
      'rules.0.condition.all.0.op',
      '"has" goes with',
    ],
    [{ condition: { kind: 'custom', name: 'f' } }, 'rules.0.condition.kind', 'cannot be evaluated here'],
    [
      { condition: { kind: 'signal', key: 'a', args: { x: {} }, op: 'eq', value: 1 } },
      'rules.0.condition.args',
      'remove "args"',
    ],
    [{ condition: { kind: 'toolArg', type: 'string', op: 'regex', value: '(?=x)' } }, 'rules.0.condition', 'RE2'],
    [
      {
        condition: {
          kind: 'timeGate',
          timezone: { source: 'static', tz: 'Mars/X' },
          windows: [{ days: ['mon'], start: '09:00', end: '10:00' }],
        },
      },
      'rules.0.condition',
      'not a known time zone',
    ],
    [
      { condition: { kind: 'maxCalls', selector: { by: 'toolName', patterns: ['a'] }, max: 1, windowSeconds: 1e6 } },
      'rules.0.condition.windowSeconds',
      'one day',
    ],
  ])('rejects %j at %s', (rule, path, message) => {
    expect(detailsOf(rule)).toContainEqual({ path, message: expect.stringContaining(message) });
  });

  it.each([null, [], 'x', {}, { policy: POLICY }, { policy: POLICY, rules: [] }, { rules: [RULE] }])(
    'rejects %j',
    (body) => {
      expect(readPolicy(body, 'p')).toMatchObject({ ok: false, problem: { status: 400 } });
    },
  );

  it('imports a policy completely or not at all', () => {
    const read = readPolicy({ policy: POLICY, rules: [RULE, { ...RULE, name: '' }] }, 'p');
    expect(read).toMatchObject({ ok: false, problem: { details: [{ path: 'rules.1.name' }] } });
  });
});
