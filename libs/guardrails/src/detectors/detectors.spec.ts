import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DETECTOR_NAMES, type DetectorName, detect, LONGEST_TEXT, luhn, redact } from './detectors.ts';

const found = (name: DetectorName, text: string) => detect(name, text).map((one) => one.text);

describe('detect', () => {
  it.each<[DetectorName, string, string[]]>([
    ['email', 'write to ada.l+x@mail.example.org, or bob@site', ['ada.l+x@mail.example.org']],
    ['email_domain', 'ada@mail.example.org', ['@mail.example.org']],
    ['phone', 'call +44 20 7946 0958 or 12', ['+44 20 7946 0958']],
    ['phone', '2026-11-21 and 10.20.30.40', []],
    ['credit_card', 'card 4111 1111 1111 1111.', ['4111 1111 1111 1111']],
    ['credit_card', 'card 4111 1111 1111 1112', []],
    ['iban', 'to GB82 WEST 1234 5698 7654 32', ['GB82 WEST 1234 5698 7654 32']],
    ['iban', 'GB82WEST12345698765433', []],
    ['credit_card', '12 4111 1111 1111 1111 123, 5500-0000-0000-0004', ['4111 1111 1111 1111', '5500-0000-0000-0004']],
    ['credit_card', '4111111111111111 12/28 x4111111111111111', ['4111111111111111']],
    [
      'iban',
      'from BE68 5390 0754 7034 then GB82WEST12345698765432 please',
      ['BE68 5390 0754 7034', 'GB82WEST12345698765432'],
    ],
    ['uk_nino', 'AB 12 34 56 C and GB123456A', ['AB 12 34 56 C']],
    ['ip_address', 'from 10.0.0.1, not 300.1.1.1', ['10.0.0.1']],
    ['ip_address', 'at 2001:db8::1 now', ['2001:db8::1']],
    ['ip_address', 'at 12:30:00', []],
    ['url', 'see https://example.org/a?b=1 there', ['https://example.org/a?b=1']],
    ['jwt', 'Bearer eyJhbGciOi.eyJzdWIiOi.c2lnbmF0', ['eyJhbGciOi.eyJzdWIiOi.c2lnbmF0']],
    ['secret_key', 'key AKIAABCDEFGHIJKLMNOP here', ['AKIAABCDEFGHIJKLMNOP']],
    ['secret_key', 'key sk-proj-abcdefghijklmnopqrstuv', ['sk-proj-abcdefghijklmnopqrstuv']],
  ])('%s in %j: %j', (name, text, expected) => {
    expect(found(name, text)).toEqual(expected);
  });

  it('finds a whole private key, including a truncated one', () => {
    const key = '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----';
    expect(found('private_key', `a ${key} b`)).toEqual([key]);
    expect(found('private_key', 'a -----BEGIN PRIVATE KEY-----\nMIIE')).toEqual(['-----BEGIN PRIVATE KEY-----\nMIIE']);
  });

  it('returns positions in order and without overlap', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '1', '4', '@', '.', ':', ' ', '+', '-', 'e', '/', '\u{1f600}'),
    });
    fc.assert(
      fc.property(fc.constantFrom(...DETECTOR_NAMES), text, (name, hay) => {
        let end = 0;
        for (const { from, to, text: piece } of detect(name, hay)) {
          expect(from).toBeGreaterThanOrEqual(end);
          expect(hay.slice(from, to)).toBe(piece);
          end = to;
        }
      }),
    );
  });
});

describe('luhn', () => {
  it('detects every single wrong digit', () => {
    fc.assert(
      fc.property(fc.nat(15), fc.integer({ min: 1, max: 9 }), (place, change) => {
        const digits = Array.from('4111111111111111');
        digits[place] = String((Number(digits[place]) + change) % 10);
        return !luhn(digits.join(''));
      }),
    );
  });
});

describe('redact', () => {
  it('removes every match and keeps the rest', () => {
    expect(redact(['email', 'credit_card'], 'a x@y.example b 4111111111111111 c')).toBe('a [email] b [credit_card] c');
    expect(redact(['email'], 'nothing here')).toBe('nothing here');
  });

  it('rejects a text that is too long to be searched whole', () => {
    expect(() => redact(['email'], 'a'.repeat(LONGEST_TEXT + 1))).toThrow('too long');
  });
});
