import { describe, expect, it } from '@jest/globals';
import { answerTo } from '../../decisions/call.testing.ts';

const tagged = (...tags: string[]) => ({ tool: { name: 't', tags } });

describe('tool_tag', () => {
  it('matches any or all of the tags, ignoring case', () => {
    expect(answerTo('tool_tag', { tags: ['Write', 'admin'] }, tagged('write'))).toBe(true);
    expect(answerTo('tool_tag', { operator: 'allOf', tags: ['write', 'admin'] }, tagged('WRITE'))).toBe(false);
    expect(answerTo('tool_tag', { operator: 'allOf', tags: ['write'] }, tagged('WRITE', 'x'))).toBe(true);
    expect(answerTo('tool_tag', { tags: ['write'] }, tagged())).toBe(false);
  });

  it('is missing if the call has no tool', () => {
    expect(answerTo('tool_tag', { tags: ['x'] }, { tool: undefined })).toBe('missing');
  });
});
