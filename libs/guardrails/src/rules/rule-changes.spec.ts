import { aRule } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ruleChanges } from './rule-changes.ts';

const anyConfig = fc.dictionary(
  fc.constantFrom('a', 'b', 'c'),
  fc.oneof(
    fc.integer(),
    fc.array(fc.integer(), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('x', 'y'), fc.boolean()),
  ),
);
const someRule = fc
  .record({ name: fc.constantFrom('one', 'two'), conditionConfig: anyConfig, priority: fc.integer({ min: 0, max: 2 }) })
  .map((fields) => aRule(fields));

describe('ruleChanges', () => {
  it('compares configs and the selector by member and lists as a whole', () => {
    const before = aRule({ name: 'A', conditionConfig: { threshold: 1, tools: ['a'] }, selector: { tools: ['x'] } });
    const after = aRule({ name: 'B', conditionConfig: { threshold: 1, tools: ['a', 'b'], windowMinutes: 5 } });
    expect(ruleChanges(before, after)).toEqual([
      { path: 'conditionConfig.tools', from: ['a'], to: ['a', 'b'] },
      { path: 'conditionConfig.windowMinutes', to: 5 },
      { path: 'name', from: 'A', to: 'B' },
      { path: 'selector.tools', from: ['x'] },
    ]);
  });

  it('reports only that a secret changed, in either rule', () => {
    const webhook = (secret: string) =>
      aRule({
        actionType: 'notify_webhook',
        actionConfig: { url: 'https://a.example', secret, headers: { key: secret } },
      });
    const secret = { secret: true };
    const changed = ruleChanges(webhook('first'), webhook('second'));
    expect(changed).toEqual([
      { path: 'actionConfig.headers.key', ...secret },
      { path: 'actionConfig.secret', ...secret },
    ]);
    const other = ruleChanges(webhook('first'), aRule({ actionType: 'pause_agent', actionConfig: {} }));
    expect(JSON.stringify(other)).not.toContain('first');
  });

  it('ignores equal values and read-only fields', () => {
    const rule = aRule({ conditionConfig: { b: 1, a: { d: 1, c: 2 } } });
    const same = { ...rule, version: 7, updatedAt: '2026-04-01T00:00:00.000Z', description: undefined };
    expect(ruleChanges(rule, { ...same, conditionConfig: { a: { c: 2, d: 1 }, b: 1 } })).toEqual([]);
  });

  it('is empty for equal rules and symmetric for different ones', () => {
    fc.assert(
      fc.property(someRule, someRule, (one, other) => {
        expect(ruleChanges(one, one)).toEqual([]);
        const there = ruleChanges(one, other);
        const back = there.map(({ path, from, to }) => ({
          path,
          ...(to === undefined ? {} : { from: to }),
          ...(from === undefined ? {} : { to: from }),
        }));
        expect(ruleChanges(other, one)).toEqual(back);
      }),
    );
  });
});
