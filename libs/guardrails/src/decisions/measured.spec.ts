import type { DecisionRequest } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { NO_TOTALS } from '../windows/totals.ts';
import { aDecisionRule, aPastCall, aRequest, NOW, someFacts } from './call.testing.ts';
import { decide } from './decide.ts';
import type { DecisionFacts } from './facts.ts';
import { factsNeeded } from './facts-needed.ts';

/** Returns the measurement of the finding, and whether the rule matched. */
function finding(
  conditionType: string,
  conditionConfig: object,
  request: Partial<DecisionRequest> = {},
  facts: Partial<DecisionFacts> = {},
) {
  const asked = aRequest(request);
  const rule = aDecisionRule({ conditionType, conditionConfig: { ...conditionConfig } });
  const needs = factsNeeded([rule], asked);
  const { findings } = decide(
    [{ ...rule, phases: [asked.phase] }],
    asked,
    someFacts({ needs, ...facts }),
    Date.parse(NOW),
  );
  const { matched, value, limit } = findings[0] ?? { matched: undefined };
  return { matched, value, limit };
}

const calls = (n: number) => ({ history: Array.from({ length: n }, (_, i) => aPastCall({ callKey: `c${i}` })) });
const totals = (sum: number) => ({ totals: [{ ...NO_TOTALS, count: 1, sum }] });
const after = (duration_ms: number) => ({ phase: 'tool.after' as const, metrics: { duration_ms } });

describe('the measurement of a matching rule', () => {
  it.each([
    ['max_calls', { tools: ['sea*'], max: 3 }, {}, calls(4), { value: 4, limit: 3 }],
    ['max_calls', { tools: ['sea*'], max: 3, per: 'agent', windowMinutes: 5 }, {}, totals(7), { value: 7, limit: 3 }],
    ['repeated_call', { times: 2 }, {}, calls(5), { value: 5, limit: 2 }],
    ['execution_time', { ms: 100 }, after(250), {}, { value: 250, limit: 100 }],
    ['cost_limit', { maxCostUsd: 5, scope: 'session' }, {}, totals(5.1 + 0.2), { value: 5.3, limit: 5 }],
    [
      'metric_window',
      { metric: 'bytes_out', aggregate: 'sum', operator: 'gt', value: 10, scope: 'agent', windowMinutes: 60 },
      { metrics: { bytes_out: 4 } },
      totals(8),
      { value: 12, limit: 10 },
    ],
    [
      'signal',
      { key: 'risk', operator: 'gte', value: 0.8 },
      { metrics: { risk: 0.9 } },
      {},
      { value: 0.9, limit: 0.8 },
    ],
  ])('is reported with its limit: %s', (type, config, request, facts, expected) => {
    expect(finding(type, config, request, facts)).toEqual({ matched: true, ...expected });
  });

  it.each([
    ['a rule that did not match', 'max_calls', { tools: ['sea*'], max: 3 }, {}, calls(1), false],
    ['a name', 'tool_name', { value: '*' }, {}, {}, true],
    [
      'a tag, which may be confidential',
      'signal',
      { key: 'age', operator: 'gt', value: 9 },
      { tags: { age: '12' } },
      {},
      true,
    ],
    [
      'an argument, which is content',
      'tool_argument',
      { path: 'amount', type: 'number', operator: 'gt', value: 9 },
      { args: { amount: 10 } },
      {},
      true,
    ],
    [
      'a rule that matches because a condition did not',
      'not',
      { condition: { type: 'max_calls', config: { tools: ['sea*'], max: 3 } } },
      {},
      calls(1),
      true,
    ],
  ])('is not reported for %s', (_, type, config, request, facts, matched) => {
    expect(finding(type, config, request, facts)).toEqual({ matched });
  });

  it('comes from the nested condition that matched', () => {
    const many = { type: 'max_calls', config: { tools: ['sea*'], max: 3 } };
    const loop = { type: 'repeated_call', config: { times: 2 } };
    const named = { type: 'tool_name', config: { value: '*' } };
    expect(finding('any', { conditions: [many, loop] }, {}, calls(2))).toEqual({ matched: true, value: 2, limit: 2 });
    expect(finding('all', { conditions: [named, many] }, {}, calls(3))).toEqual({ matched: true, value: 3, limit: 3 });
    const never = { type: 'all', config: { conditions: [many, { type: 'tool_name', config: { value: 'x' } }] } };
    expect(finding('any', { conditions: [never, named] }, {}, calls(3))).toEqual({ matched: true });
  });
});
