import { describe, expect, it } from '@jest/globals';
import { LONGEST_TEXT } from './detectors.ts';
import { redactDeep } from './redact-deep.ts';

describe('redaction of a value', () => {
  it.each<[string, unknown, unknown]>([
    ['texts', { note: 'mail ann@example.com' }, { note: 'mail [email]' }],
    ['nested lists and objects', { to: [{ iban: 'DE89 3704 0044 0532 0130 00' }] }, { to: [{ iban: '[iban]' }] }],
    ['numbers', { card: 4111111111111111, amount: 12 }, { card: '[credit_card]', amount: 12 }],
    ['object keys', { 'ann@example.com': 1 }, { '[email]': 1 }],
    ['values under secret names', { apiKey: 'x', user_password: 7, 'Session-Token': { a: 1 } }, 'secrets'],
    ['service keys', [`ghp_${'a'.repeat(36)}`], ['[secret_key]']],
    ['only sensitive values', { maxTokens: 5, url: 'https://example.com/a', ok: true, none: null }, 'itself'],
  ])('reaches %s', (_, value, expected) => {
    const secrets = { apiKey: '[secret]', user_password: '[secret]', 'Session-Token': '[secret]' };
    const wanted = expected === 'secrets' ? secrets : expected === 'itself' ? value : expected;
    expect(redactDeep(value)).toEqual(wanted);
  });

  it('omits what is too long or too deep to search', () => {
    expect(redactDeep(`ann@example.com ${'x'.repeat(LONGEST_TEXT)}`)).toBe('[too long]');
    let deep: unknown = 'ann@example.com';
    for (let level = 0; level < 10_000; level++) deep = [deep];
    const redacted = JSON.stringify(redactDeep(deep));
    expect(redacted).toContain('[too deep]');
    expect(redacted).not.toContain('ann@');
  });
});
