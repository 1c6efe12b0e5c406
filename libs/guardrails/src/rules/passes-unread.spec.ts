import { aRule } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { passesUnread } from './active-rule.ts';

const money = {
  conditionType: 'tool_argument',
  conditionConfig: { path: 'amount', type: 'number', operator: 'gt', value: 1000 },
  actionType: 'block',
  actionConfig: {},
  cooldownMinutes: 0,
} as const;

describe('passesUnread', () => {
  it.each([
    ['an active rule about an argument', {}, true],
    [
      'one nested in all',
      {
        conditionType: 'all',
        conditionConfig: { conditions: [{ type: 'tool_argument', config: money.conditionConfig }] },
      },
      true,
    ],
    ['one with onMissing: block', { onMissing: 'block' }, false],
    ['a disabled one', { enabled: false }, false],
    ['one in shadow mode', { mode: 'shadow' }, false],
    ['one that allows', { actionType: 'allow' }, false],
    ['one about the name of a tool', { conditionType: 'tool_name', conditionConfig: { value: 'rm' } }, false],
  ] as const)('for %s', (_, fields, expected) => {
    expect(passesUnread(aRule({ ...money, ...fields } as never), 0)).toBe(expected);
  });
});
