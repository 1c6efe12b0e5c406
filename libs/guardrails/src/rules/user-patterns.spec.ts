import { describe, expect, it } from '@jest/globals';
import { patternPath } from './user-patterns.ts';

const argument = (operator: string) => ({ path: 'to', operator, value: 'a+' });
const nested = (operator: string) => ({ type: 'tool_argument', config: argument(operator) });

describe('the path of a pattern in a rule', () => {
  it.each<[string, Record<string, unknown>, string | null]>([
    ['tool_argument', argument('regex'), 'conditionConfig.value'],
    ['tool_argument', argument('contains'), null],
    ['expression', { expression: 'tool.name.matches("^a")' }, 'conditionConfig.expression'],
    ['expression', { expression: 'tool.name == "a"' }, null],
    ['all', { conditions: [nested('eq'), nested('regex')] }, 'conditionConfig.conditions.1.config.value'],
    ['any', { conditions: [nested('eq')] }, null],
    [
      'not',
      { condition: { type: 'any', config: { conditions: [nested('regex')] } } },
      'conditionConfig.condition.config.conditions.0.config.value',
    ],
    ['tool_name', { operator: 'glob', value: 'matches(*' }, null],
  ])('%s %j: %s', (conditionType, conditionConfig, path) => {
    expect(patternPath({ conditionType, conditionConfig })).toBe(path);
  });
});
