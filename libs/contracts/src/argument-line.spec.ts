import { describe, expect, it } from '@jest/globals';
import { argumentLine } from './argument-line.ts';

describe('the line of arguments', () => {
  it.each([
    [{ command: 'rm -rf build' }, 'command rm -rf build'],
    [{ eur: 20, to: 'x', note: { deep: 1 }, ok: true, more: 1 }, 'eur 20, to x, ok true'],
    [['a', 2], 'a, 2'],
    [{ text: 'two\n lines' }, 'text two lines'],
    ['plain', 'plain'],
    [{}, ''],
    [null, ''],
    [undefined, ''],
  ])('shows %j as %j', (args, line) => expect(argumentLine(args)).toBe(line));

  it('is cut', () => expect(argumentLine({ text: 'x'.repeat(500) })).toHaveLength(120));
});
