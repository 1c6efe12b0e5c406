import { describe, expect, it } from '@jest/globals';
import { answerTo } from '../../decisions/call.testing.ts';

const ARGS = { to: 'ada@example.org', amount: 12.5, dry: false, nested: { list: ['x', { note: 'DROP TABLE' }] } };
const ask = (config: object, args: unknown = ARGS) => answerTo('tool_argument', config, { args });

describe('tool_argument', () => {
  it.each([
    [{ path: 'to', value: 'ada@example.org' }, true],
    [{ path: 'to', operator: 'neq', value: 'ada@example.org' }, false],
    [{ path: 'to', operator: 'contains', value: '@' }, true],
    [{ path: 'to', operator: 'startsWith', value: 'bob' }, false],
    [{ path: 'to', operator: 'endsWith', value: '.org' }, true],
    [{ path: 'to', operator: 'glob', value: '*@example.*' }, true],
    [{ path: 'to', operator: 'glob', value: '*@Example.org' }, false],
    [{ path: 'to', operator: 'glob', value: '*@example' }, false],
    [{ operator: 'glob', value: 'DROP *' }, true],
    [{ path: 'to', operator: 'in', value: ['x', 'ada@example.org'] }, true],
    [{ path: 'to', operator: 'regex', value: '^[a-z]+@' }, true],
    [{ path: 'amount', type: 'number', operator: 'gt', value: 12.5 }, false],
    [{ path: 'amount', type: 'number', operator: 'gte', value: 12.5 }, true],
    [{ path: 'amount', type: 'number', operator: 'lt', value: 12.5 }, false],
    [{ path: 'amount', type: 'number', operator: 'lte', value: 12.5 }, true],
    [{ path: 'dry', type: 'boolean', value: false }, true],
    [{ path: 'nested.list.1.note', operator: 'exists' }, true],
    [{ path: 'nested.list.7', operator: 'notExists' }, true],
    [{ path: 'constructor', operator: 'exists' }, false],
    [{ operator: 'regex', value: '(?i)drop\\s+table' }, true],
    [{ operator: 'contains', value: 'nowhere' }, false],
  ])('%j is %s', (config, answer) => expect(ask(config)).toBe(answer));

  it('is missing if the path has no value or a value of another type', () => {
    expect(ask({ path: 'nothing', value: 'x' })).toBe('missing');
    expect(ask({ path: 'amount', value: '12.5' })).toBe('missing');
    expect(ask({ path: 'to', value: 'x' }, null)).toBe('missing');
  });

  it('handles circular arguments', () => {
    const args: Record<string, unknown> = { text: 'a' };
    args.self = args;
    expect(ask({ operator: 'eq', value: 'a' }, args)).toBe(true);
  });

  it.each([
    [{ operator: 'exists' }, 'required by operator'],
    [{ path: 'a', operator: 'gt', value: 'x' }, 'must be one of'],
    [{ path: 'a', type: 'number', value: '1' }, 'give a number'],
    [{ type: 'number', value: 1 }, 'only texts'],
    [{ operator: 'in', value: 'x' }, 'list of strings'],
    [{ operator: 'regex', value: '(a)\\1' }, 'RE2'],
    [{ operator: 'eq' }, 'give a string'],
    [{ path: 'a', operator: 'exists', value: 'x' }, 'remove it'],
  ])('rejects %j: %s', (config, message) => expect(() => ask(config)).toThrow(message));
});
