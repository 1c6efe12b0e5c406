import { describe, expect, it } from '@jest/globals';
import { iban, luhn } from './detectors.ts';
import { redact, redactDeep } from './redact.ts';

const found = (text: string) => redact(text).findings.map(({ name, start, end }) => [name, text.slice(start, end)]);

/** Concatenated here so that secret scanners do not report this file. */
const KEYS = {
  openai: `sk-${'proj-'}${'aB3'.repeat(12)}`,
  anthropic: `sk-ant-${'a1-'.repeat(12)}x`,
  github: `ghp_${'a'.repeat(36)}`,
  aws: `AKIA${'ABCD1234'.repeat(2)}`,
  google: `AIza${'a'.repeat(35)}`,
  slack: `xoxb-${'123456789012'}-abcdef`,
  stripe: `sk_live_${'a1'.repeat(12)}`,
  npm: `npm_${'a'.repeat(36)}`,
  ours: `agk_live_${'a1'.repeat(4)}_${'b'.repeat(49)}`,
  agentlens: `als_${'0f'.repeat(32)}`,
  huggingFace: `hf_${'aB'.repeat(17)}`,
  sendGrid: `SG.${'a1'.repeat(11)}.${'b2'.repeat(21)}`,
  webhook: `whsec_${'aB3+'.repeat(8)}`,
};
const JWT = `eyJ${'hbGciOiJIUzI1NiJ9'}.eyJ${'zdWIiOiIxIn0'}.${'c2lnbmF0dXJl'}`;

describe('redaction', () => {
  it.each([
    ['email', 'jo.doe+x@mail.example.co.uk'],
    ['phone', '+49 170 1234567'],
    ['phone', '+1 (555) 123-4567'],
    ['phone', '555-123-4567'],
    ['credit_card', '4111 1111 1111 1111'],
    ['credit_card', '378282246310005'],
    ['iban', 'DE89 3704 0044 0532 0130 00'],
    ['iban', 'GB82WEST12345698765432'],
    ['jwt', JWT],
    ...Object.values(KEYS).map((key) => ['api_key', key]),
  ])('finds %s: %s', (name, secret) => {
    expect(found(`Please use ${secret}, thanks.`)).toEqual([[name, secret]]);
    expect(redact(`<${secret}>`).text).toBe(`<[${name}]>`);
  });

  it('finds a private key, whole or truncated', () => {
    const body = `${'MIIE'.repeat(20)}\n`.repeat(3);
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${body}-----END RSA PRIVATE KEY-----`;
    expect(redact(`a ${key} b`).text).toBe('a [private_key] b');
    expect(redact(`a ${key.slice(0, 100)}`).text).toBe('a [private_key]');
  });

  it.each([
    'order 4111 1111 1111 1112 of 2026-03-01',
    'version 1.2.3-beta, build 20260301123456',
    'id 00000000-0000-7000-8000-000000000001',
    'DE00 3704 0044 0532 0130 00',
    'at 12:30:45.123 for 1234567890 ms',
    'user@localhost, @handle, a@b',
    'sk-short, the task-force-of-the-department',
    '192.168.0.1:8080 and 10.0.0.1/24',
    'x = 3.14159265358979',
  ])('leaves %p alone', (text) => {
    expect(found(text)).toEqual([]);
  });

  it('reports each position once, preferring the more severe finding', () => {
    expect(redact(`${JWT} ${KEYS.github} a@b.io`).text).toBe('[jwt] [api_key] [email]');
    expect(redact('a@b.io and c@d.io').findings.map(({ start }) => start)).toEqual([0, 11]);
  });

  it('uses the requested detectors and additional ones', () => {
    const also = [{ name: 'badge', pattern: /\bB-\d{4}\b/g }];
    expect(redact('B-1234 a@b.io +49 170 1234567', { detect: ['email'], also }).text).toBe(
      '[badge] [email] +49 170 1234567',
    );
    expect(redact('a@b.io', { replacement: (name, text) => `${name}:${text.length}` }).text).toBe('email:6');
  });

  it('reaches every text in a value and changes nothing else', () => {
    const when = new Date(0);
    const value = { to: ['a@b.io', { deep: 'c@d.io' }], n: 1, when, none: null };
    expect(redactDeep(value)).toEqual({ to: ['[email]', { deep: '[email]' }], n: 1, when, none: null });
    expect(value.to[0]).toBe('a@b.io');
    const circular: Record<string, unknown> = { mail: 'a@b.io' };
    circular.self = circular;
    const cleaned = redactDeep(circular);
    expect([cleaned.mail, cleaned.self === cleaned]).toEqual(['[email]', true]);
  });

  // Quadratic time would take minutes for each of these and hit the runner's timeout.
  it.each([
    'a',
    'a.',
    '1',
    '1 ',
    '1-',
    '+1',
    'a@',
    '@a.',
    'eyJ',
    'eyJa',
    'sk-',
    'sk-a',
    'AB12',
    'AB12 ',
    '-----BEGIN PRIVATE KEY-----',
    '(1',
    '.',
    'A ',
  ])('reads long hostile text of %p in linear time', (piece) => {
    const text = piece.repeat(Math.floor(1_000_000 / piece.length));
    expect(redact(text).text.length).toBeGreaterThan(0);
  });
});

describe('checksums', () => {
  it('recognises valid numbers', () => {
    expect([luhn('4111111111111111'), luhn('4111111111111112'), luhn('0')]).toEqual([true, false, false]);
    expect([iban('DE89370400440532013000'), iban('DE88370400440532013000')]).toEqual([true, false]);
  });
});
