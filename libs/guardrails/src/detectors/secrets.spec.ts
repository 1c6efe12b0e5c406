import { describe, expect, it } from '@jest/globals';
import { redact } from './detectors.ts';
import { redactDeep } from './redact-values.ts';

/** Assembled at run time, so that secret scanners do not report this file. */
const KEYS = [
  `agk_live_${'a1'.repeat(4)}_${'b'.repeat(49)}`,
  `als_${'0f'.repeat(32)}`,
  `hf_${'aB'.repeat(17)}`,
  `SG.${'a1'.repeat(11)}.${'b2'.repeat(21)}`,
  `whsec_${'aB3+'.repeat(8)}`,
  `al_live_${'x'.repeat(20)}`,
  `xoxe-${'1'.repeat(12)}`,
];

describe('a secret', () => {
  it.each(KEYS)('is detected and redacted: %s', (key) => {
    expect(redact(['secret_key'], `use ${key}, thanks`)).toBe('use [secret_key], thanks');
    expect(redactDeep({ note: [key] })).toEqual({ note: ['[secret_key]'] });
  });

  it('inside JSON ends with its string', () => {
    const line = JSON.stringify({ key: '-----BEGIN PRIVATE KEY-----\nMIIE', name: 'b' });
    expect(JSON.parse(redact(['private_key'], line))).toEqual({ key: '[private_key]', name: 'b' });
  });

  it.each(['sk-', 'eyJa', 'eyJaaaaa.', 'SG.aaaaaaaaaaaaaaaaa', 'agk_', '-----BEGIN PRIVATE KEY-----', 'whsec_-'])(
    'is searched in linear time among %p',
    (piece) => {
      const text = piece.repeat(Math.floor(250_000 / piece.length));
      const names = ['private_key', 'jwt', 'secret_key'] as const;
      expect(redact(names, text).length).toBeGreaterThan(0);
    },
  );
});
