import { describe, expect, it } from '@jest/globals';
import { aDecisionRule, answerTo, aPastCall, aRequest } from '../../decisions/call.testing.ts';
import { factsNeeded } from '../../decisions/facts-needed.ts';
import { NO_TOTALS } from '../../windows/totals.ts';
import { maxCalls } from './max-calls.ts';

const calls = (n: number) => Array.from({ length: n }, (_, i) => aPastCall({ callKey: `c${i}` }));
const config = { tools: ['sea*'], max: 3 };
const windowed = { ...config, per: 'agent', windowMinutes: 5 };

describe('max_calls', () => {
  it('matches once the allowed number of calls was made', () => {
    expect(answerTo('max_calls', config, {}, { history: calls(2) })).toBe(false);
    expect(answerTo('max_calls', config, {}, { history: calls(3) })).toBe(true);
  });

  it('counts calls that are being decided concurrently', () => {
    const history = [...calls(2), aPastCall({ callKey: 'x', status: 'asked' })];
    expect(answerTo('max_calls', config, {}, { history })).toBe(true);
  });

  it('stops only calls of the counted tools unless configured to stop every call', () => {
    const other = { tool: { name: 'other', tags: [] } };
    expect(answerTo('max_calls', config, other, { history: calls(9) })).toBe(false);
    expect(answerTo('max_calls', { ...config, appliesTo: 'every_call' }, other, { history: calls(9) })).toBe(true);
  });

  it('counts calls over a window', () => {
    const held = (sum: number) => ({ totals: [{ ...NO_TOTALS, count: sum, sum }] });
    expect(answerTo('max_calls', windowed, {}, held(2))).toBe(false);
    expect(answerTo('max_calls', windowed, {}, held(3))).toBe(true);
    expect(answerTo('max_calls', windowed, {}, { totals: 'unavailable' })).toBe('unavailable');
  });

  it('accepts a wider scope only for counts without a window, up to the size of a history', () => {
    const problems = (fields: object) =>
      maxCalls.config.safeParse({ ...config, scope: 'tree', ...fields }).error?.issues.map(({ path }) => path.join());
    expect(problems({})).toBeUndefined();
    expect(problems({ max: 1_000 })).toEqual(['max']);
    expect(problems({ per: 'agent', windowMinutes: 5 })).toEqual(['scope']);
    expect(problems({ scope: 'planet' })).toEqual(['scope']);
  });

  it('adds a counted call before it is made and removes it if it is rejected', () => {
    const rule = aDecisionRule({ conditionType: 'max_calls', conditionConfig: windowed });
    const needs = factsNeeded([rule], aRequest());
    expect(needs.increments).toEqual([expect.objectContaining({ series: 0, value: 1 })]);
    expect(needs.undo).toEqual([expect.objectContaining({ series: 0, value: -1 })]);
    expect(factsNeeded([rule], aRequest({ phase: 'tool.after' })).increments).toEqual([]);
    expect(factsNeeded([rule], aRequest({ tool: { name: 'x', tags: [] } })).increments).toEqual([]);
  });

  it('counts per end user and is missing without an end user', () => {
    const perUser = { ...windowed, per: 'agent_user' };
    const rule = aDecisionRule({ conditionType: 'max_calls', conditionConfig: perUser });
    const metric = (externalId: string) => factsNeeded([rule], aRequest({ actor: { externalId } })).series[0]?.metric;
    expect(metric('u1')).not.toBe(metric('u2'));
    expect(answerTo('max_calls', perUser, {})).toBe('missing');
  });

  it('requires a window for counts per agent and rejects one for a run', () => {
    expect(() => answerTo('max_calls', { ...config, per: 'agent' }, {})).toThrow('is required per agent');
    expect(() => answerTo('max_calls', { ...config, windowMinutes: 5 }, {})).toThrow('a run is counted whole');
  });
});
