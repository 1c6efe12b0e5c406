import { anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { NO_TOTALS } from '../windows/totals.ts';
import { aDecisionRule, aRequest, NOW, someFacts } from './call.testing.ts';
import { decide } from './decide.ts';
import { factsNeeded } from './facts-needed.ts';
import { isStateless } from './selectors.ts';

const counted = { tools: ['search'], max: 5, per: 'agent', windowMinutes: 10 };

describe('factsNeeded', () => {
  it('needs nothing if the call itself holds all data', () => {
    expect(factsNeeded([aDecisionRule()], aRequest())).toEqual({
      history: false,
      agent: false,
      series: [],
      increments: [],
      undo: [],
    });
  });

  it('requests a series once and counts a call once, regardless of how many rules read it', () => {
    const rules = [1, 2].map(() => aDecisionRule({ conditionType: 'max_calls', conditionConfig: counted }));
    const needs = factsNeeded(rules, aRequest());
    expect(needs.series).toHaveLength(1);
    expect(needs.increments).toEqual([{ series: 0, event: 0, atMs: Date.parse(NOW), value: 1 }]);
  });

  it('counts calls that no counting rule applies to', () => {
    const rule = aDecisionRule({
      conditionType: 'max_calls',
      conditionConfig: counted,
      selector: { tools: ['deploy'] },
    });
    expect(factsNeeded([], aRequest(), [rule]).increments).toHaveLength(1);
    expect(factsNeeded([rule], aRequest(), [rule]).increments).toHaveLength(1);
  });

  it('fetches the agent only if a rule selects by its tags', () => {
    expect(factsNeeded([aDecisionRule({ selector: { agentTagsAny: ['prod'] } })], aRequest()).agent).toBe(true);
  });
});

describe('isStateless', () => {
  it('is true for rules that read only the call', () => {
    expect(isStateless(aDecisionRule())).toBe(true);
    expect(isStateless(aDecisionRule({ conditionType: 'repeated_call', conditionConfig: {} }))).toBe(false);
    expect(isStateless(aDecisionRule({ conditionType: 'cost_limit', conditionConfig: {} }))).toBe(false);
    expect(isStateless(aDecisionRule({ selector: { agentTagsAny: ['x'] } }))).toBe(false);
    const inner = { condition: { type: 'max_calls', config: { max: 1 } } };
    expect(isStateless(aDecisionRule({ conditionType: 'not', conditionConfig: inner }))).toBe(false);
  });
});

describe('event conditions at decision time', () => {
  const gate = aDecisionRule({
    conditionType: 'error_rate_threshold',
    conditionConfig: { threshold: 30, windowMinutes: 5, minEvents: 1 },
    selector: { tools: ['deploy'] },
    name: 'Deploy only while healthy',
  });
  const request = aRequest({ tool: { name: 'deploy', tags: [] } });
  const rate = (count: number, sum: number) => {
    const needs = factsNeeded([gate], request);
    const facts = someFacts({ needs, totals: [{ ...NO_TOTALS, count, sum }] });
    return decide([gate], request, facts, Date.parse(NOW));
  };

  it('gate a call by what events counted', () => {
    expect(rate(10, 3).effect).toBe('block');
    expect(rate(10, 2).effect).toBe('allow');
    expect(rate(10, 3).message).toBe('Blocked by rule "Deploy only while healthy"');
  });

  it('are missing if there is nothing to measure yet', () => {
    expect(rate(0, 0).bypasses).toEqual([{ ruleId: gate.id, why: 'missing', did: 'allow' }]);
  });

  it('are unavailable without the window', () => {
    const facts = someFacts({ needs: factsNeeded([gate], request), totals: 'unavailable' });
    expect(decide([gate], request, facts, Date.parse(NOW)).bypasses).toMatchObject([{ why: 'unavailable' }]);
  });

  it('are fed by the events they measure', () => {
    expect(gate.feeds[0]?.series(anEvent())).toEqual(factsNeeded([gate], request).series);
  });
});
