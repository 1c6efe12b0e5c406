import { describe, expect, it } from '@jest/globals';
import { aDecisionRule, answerTo, aPastCall, aRequest } from '../../decisions/call.testing.ts';
import { factsNeeded } from '../../decisions/facts-needed.ts';

const named = (value: string) => ({ type: 'tool_name', config: { value } });
const tagged = { type: 'enduser_tag', config: { tag: 'vip' } };

describe('all', () => {
  it('matches if every condition matches', () => {
    expect(answerTo('all', { conditions: [named('s*'), named('*h')] }, {})).toBe(true);
    expect(answerTo('all', { conditions: [named('s*'), named('x')] }, {})).toBe(false);
  });

  it('is missing only if a missing condition decides the result', () => {
    expect(answerTo('all', { conditions: [named('s*'), tagged] }, {})).toBe('missing');
    expect(answerTo('all', { conditions: [named('x'), tagged] }, {})).toBe(false);
  });

  it('needs the facts of its conditions at any depth', () => {
    const inner = { type: 'not', config: { condition: { type: 'repeated_call' } } };
    const cost = { type: 'cost_limit', config: { maxCostUsd: 1, scope: 'session' } };
    const rule = aDecisionRule({ conditionType: 'all', conditionConfig: { conditions: [inner, cost] } });
    expect(factsNeeded([rule], aRequest())).toMatchObject({
      history: true,
      series: [{ metric: 'cost_usd', span: { kind: 'run', runId: 'run-1' } }],
    });
    expect(rule).toMatchObject({ counts: true, feeds: [{ kinds: expect.any(Array) }] });
    expect(answerTo('all', { conditions: [inner] }, {}, { history: [aPastCall()] })).toBe(true);
  });

  it.each([
    [{ conditions: [] }, ['conditions'], ''],
    [{ conditions: [named('x'), { type: 'tool_nam' }] }, ['conditions', 1, 'type'], 'did you mean "tool_name"'],
    [{ conditions: [{ type: 'health_score_threshold' }] }, ['conditions', 0, 'type'], 'cannot be asked about a call'],
    [
      { conditions: [{ type: 'all', config: { conditions: [{ type: 'tool_name', config: { valu: 'x' } }] } }] },
      ['conditions', 0, 'config', 'conditions', '0', 'config', 'value'],
      'is required',
    ],
  ])('reports the path of the error in %j', async (config, path, message) => {
    const { CONDITIONS } = await import('../index.ts');
    const issues = CONDITIONS.get('all')?.config.safeParse(config).error?.issues ?? [];
    expect(issues).toContainEqual(expect.objectContaining({ path, message: expect.stringContaining(message) }));
  });
});
