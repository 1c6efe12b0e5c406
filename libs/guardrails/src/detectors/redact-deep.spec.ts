import { describe, expect, it } from '@jest/globals';
import { LONGEST_TEXT } from './detectors.ts';
import { redactDeep } from './redact-deep.ts';

describe('redaction of a value', () => {
  it.each<[string, unknown, unknown]>([
    ['texts', { note: 'mail ann@example.com' }, { note: 'mail [email]' }],
    ['lists and objects inside', { to: [{ iban: 'DE89 3704 0044 0532 0130 00' }] }, { to: [{ iban: '[iban]' }] }],
    ['numbers', { card: 4111111111111111, amount: 12 }, { card: '[credit_card]', amount: 12 }],
    ['names of members', { 'ann@example.com': 1 }, { '[email]': 1 }],
    ['what is called a secret', { apiKey: 'x', user_password: 7, 'Session-Token': { a: 1 } }, 'secrets'],
    ['keys of services', [`ghp_${'a'.repeat(36)}`], ['[secret_key]']],
    ['what is not sensitive', { maxTokens: 5, url: 'https://example.com/a', ok: true, none: null }, 'itself'],
  ])('reaches %s', (_, value, expected) => {
    const secrets = { apiKey: '[secret]', user_password: '[secret]', 'Session-Token': '[secret]' };
    const wanted = expected === 'secrets' ? secrets : expected === 'itself' ? value : expected;
    expect(redactDeep(value)).toEqual(wanted);
  });

  it('leaves out what it cannot look through', () => {
    expect(redactDeep(`ann@example.com ${'x'.repeat(LONGEST_TEXT)}`)).toBe('[too long]');
    let deep: unknown = 'ann@example.com';
    for (let level = 0; level < 10_000; level++) deep = [deep];
    const told = JSON.stringify(redactDeep(deep));
    expect(told).toContain('[too deep]');
    expect(told).not.toContain('ann@');
  });
});
