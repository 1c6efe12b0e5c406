import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { detailsOf } from './problems.ts';

const messageOf = (schema: z.ZodType, value: unknown) => {
  const { error } = schema.safeParse(value);
  return error === undefined ? undefined : detailsOf(error)[0]?.message;
};

describe('the message about a value', () => {
  it.each([
    ['a least number', z.int().min(1), 0, 'must be at least 1'],
    ['a number above', z.number().positive(), 0, 'must be more than 0'],
    ['a greatest number', z.number().max(900), 901, 'must be at most 900'],
    ['an empty text', z.string().min(1), '', 'must not be empty'],
    ['a long text', z.string().max(3), 'four', 'must have at most 3 characters'],
    ['a missing text', z.object({ a: z.string() }), {}, 'is required, give a string'],
    ['a text that is a number', z.string(), 5, 'must be a string, not a number'],
    ['a number that is a boolean', z.number(), true, 'must be a number, not a boolean'],
    ['a fraction', z.int(), 1.5, 'must be a whole number'],
    ['a choice', z.enum(['a', 'b', 'c']), 'd', 'must be "a", "b" or "c"'],
    ['a missing choice', z.object({ a: z.enum(['a', 'b']) }), {}, 'must be "a" or "b"'],
    ['a constant', z.literal(3), 4, 'must be 3'],
    ['an unknown key', z.strictObject({}), { b: 1 }, 'has the unknown key "b", remove it'],
    ['unknown keys', z.strictObject({}), { b: 1, c: 1 }, 'has the unknown keys "b", "c", remove them'],
    ['a short list', z.array(z.string()).min(2), ['a'], 'must have at least 2 items'],
  ])('says %s as a rule about the field', (_what, schema, value, message) => {
    expect(messageOf(schema, value)).toBe(message);
  });

  it('keeps what a schema says itself, and every other message', () => {
    expect(messageOf(z.string().min(1, 'give your name'), '')).toBe('give your name');
    expect(messageOf(z.union([z.string(), z.number()]), true)).toBe('Invalid input');
  });
});
