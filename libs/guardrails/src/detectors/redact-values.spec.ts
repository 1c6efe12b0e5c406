import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LONGEST_TEXT } from './detectors.ts';
import { redactDeep, redactJson } from './redact-values.ts';

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

describe('redacting JSON text', () => {
  it('keeps the digits of numbers beyond double precision', () => {
    const text = '{"amount":9007199254740993,"rate":1.10,"big":1e400,"list":[-0.30,12345678901234567890]}';
    expect(redactJson(text)).toBe(text);
  });

  it('redacts detector matches and values under secret names, including numbers', () => {
    const text = '{"to":"ann@example.com","password":90071992547409931,"card":4111111111111111}';
    expect(redactJson(text)).toBe('{"to":"[email]","password":"[secret]","card":"[credit_card]"}');
  });

  it('never turns a string into a number', () => {
    const text = String.raw`{"a":"\ue0005","b":"5","c":"\"7"}`;
    expect(JSON.parse(redactJson(text))).toEqual(JSON.parse(text));
  });

  it('equals redaction of the value if no digits are lost', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.parse(redactJson(text))).toEqual(JSON.parse(JSON.stringify(redactDeep(JSON.parse(text)))));
      }),
    );
  });
});
