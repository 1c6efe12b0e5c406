import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { RuleAnswer } from '../context.ts';
import { fileOf, yamlOf } from './pulled-rules.ts';

describe('a pulled rule file', () => {
  it.each([
    ['a direction mark', 'pay \u202eyap'],
    ['a control character', 'a\u0007b\u009b2J'],
    ['a tag character', 'a\u{e0041}b'],
    ['a line break', 'one\n\u200btwo: "#'],
    ['a backslash', 'C:\\u{e0041} \u2066'],
  ])('holds a text with %s as it is, without the raw character', (_, name) => {
    const rule = { id: 'r', name, conditionConfig: { value: name } } as unknown as RuleAnswer;
    const written = yamlOf(fileOf([rule], 'rules'));
    expect(written).not.toMatch(/[[\p{Cc}\p{Cf}]--[\n]]/v);
    expect(parse(written).rules[0]).toMatchObject({ name, conditionConfig: { value: name } });
  });
});
