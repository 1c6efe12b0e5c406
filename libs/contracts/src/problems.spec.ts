import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { detailsOf } from './problems.ts';

const messageOf = (schema: z.ZodType, value: unknown) => {
  const { error } = schema.safeParse(value);
  return error === undefined ? undefined : detailsOf(error)[0]?.message;
};

describe('the message about a bound', () => {
  it.each([
    ['a least number', z.int().min(1), 0, 'must be at least 1'],
    ['a number above', z.number().positive(), 0, 'must be more than 0'],
    ['a greatest number', z.number().max(900), 901, 'must be at most 900'],
    ['an empty text', z.string().min(1), '', 'must not be empty'],
    ['a long text', z.string().max(3), 'four', 'must have at most 3 characters'],
    ['a short list', z.array(z.string()).min(2), ['a'], 'must have at least 2 items'],
  ])('says %s as a rule about the field', (_what, schema, value, message) => {
    expect(messageOf(schema, value)).toBe(message);
  });

  it('keeps what a schema says itself, and every other message', () => {
    expect(messageOf(z.string().min(1, 'give your name'), '')).toBe('give your name');
    expect(messageOf(z.string(), 5)).toMatch(/expected string/);
  });
});
