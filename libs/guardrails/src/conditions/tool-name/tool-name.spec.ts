import { describe, expect, it } from '@jest/globals';
import { answerTo } from '../../decisions/call.testing.ts';

const called = (name: string) => ({ tool: { name, tags: [] } });

describe('tool_name', () => {
  it.each([
    ['eq', 'Deploy', 'deploy', true],
    ['neq', 'deploy', 'DEPLOY', false],
    ['contains', 'LOY', 'deploy', true],
    ['startsWith', 'dep', 'Deploy', true],
    ['endsWith', 'dep', 'deploy', false],
    ['glob', 'de*y', 'Deploy', true],
    ['glob', 'de*', 'redeploy', false],
    ['in', ['x', 'dep*'], 'deploy', true],
  ])('%s %j of %s is %s', (operator, value, name, answer) => {
    expect(answerTo('tool_name', { operator, value }, called(name))).toBe(answer);
  });

  it('is missing if the call has no tool', () => {
    expect(answerTo('tool_name', { value: '*' }, { phase: 'llm.before', tool: undefined })).toBe('missing');
  });

  it('requires a list for "in" and rejects one otherwise', () => {
    expect(() => answerTo('tool_name', { operator: 'in', value: 'x' }, {})).toThrow('must be a list');
    expect(() => answerTo('tool_name', { operator: 'eq', value: ['x'] }, {})).toThrow('must be a list');
  });
});
