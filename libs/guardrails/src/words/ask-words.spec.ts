import type { GuardrailRule } from '@agentlens/contracts';
import { aRule } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { activate } from '../rules/active-rule.ts';
import { askAdvice } from './ask-words.ts';

const blocks = (fields: Partial<GuardrailRule>) => aRule({ name: 'R', actionType: 'block', ...fields });
const twoSearches = { conditionType: 'max_calls', conditionConfig: { tools: ['search'], max: 2 } };

describe('advice to let gateways decide more calls', () => {
  it.each<[string, Partial<GuardrailRule>, string | undefined]>([
    ['counts every agent', twoSearches, '"R" counts calls of every agent. Limit it to one agent.'],
    ['counts one agent', { ...twoSearches, agentId: 'bot' }, undefined],
    [
      'counts every call',
      { ...twoSearches, conditionConfig: { max: 2 } },
      '"R" counts every call. Name the tools that it counts.',
    ],
    [
      'looks at every tool',
      { conditionType: 'repeated_call', conditionConfig: {}, agentId: 'bot' },
      '"R" applies to every tool. Limit it to the tools that need it.',
    ],
    [
      'counts the tenant',
      {
        ...{ conditionType: 'repeated_call', conditionConfig: { scope: 'tenant' }, agentId: 'bot' },
        selector: { tools: ['pay'] },
      },
      '"R" counts calls of every agent. Look at the calls of one run or agent instead.',
    ],
    [
      'selects by tags',
      { conditionType: 'tool_name', conditionConfig: { value: 'pay' }, selector: { agentTagsAny: ['beta'] } },
      'Select the agents of "R" by name instead of by tag.',
    ],
    [
      'reads a window for every tool',
      { conditionType: 'cost_limit', conditionConfig: { maxCostUsd: 1, scope: 'session' } },
      '"R" applies to every tool. Limit it to the tools that need it.',
    ],
    [
      'reads a window for one tool',
      { conditionType: 'cost_limit', conditionConfig: { maxCostUsd: 1, scope: 'session' }, toolNames: ['pay'] },
      undefined,
    ],
  ])('about a rule that %s', (_, fields, advice) => {
    const rule = blocks(fields);
    const activated = activate(rule);
    if (!activated.ok || activated.value.cadence !== 'call') throw new Error('not a rule about calls');
    expect(askAdvice('needs_state', rule, activated.value)).toBe(advice);
    expect(askAdvice('approval', rule, activated.value)).toBeUndefined();
  });

  it('without a rule depends on the reason', () => {
    expect(askAdvice('clock', undefined, undefined)).toBe('Synchronize the clocks of the hosts.');
    expect(askAdvice('first', undefined, undefined)).toBeUndefined();
    expect(askAdvice('counted', undefined, undefined)).toBeUndefined();
  });
});
