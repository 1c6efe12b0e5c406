import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AesSecretBox } from './secret-box.ts';

const key = () => randomBytes(32).toString('base64');
const ROW = ['acme', 'guardrail_rules', 'r1'];

describe('secret box', () => {
  it('opens what it sealed, for any text', () => {
    const box = new AesSecretBox([key()]);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.array(fc.string()), (plain, context) => {
        expect(box.open(box.seal(plain, context), context)).toBe(plain);
      }),
    );
  });

  it('never produces the same sealed text twice, and reveals nothing of the text', () => {
    const box = new AesSecretBox([key()]);
    const sealed = box.seal('whsec_hello', ROW);
    expect(box.seal('whsec_hello', ROW)).not.toBe(sealed);
    expect(sealed).not.toContain('hello');
  });

  it('does not open a text that was moved to another row', () => {
    const box = new AesSecretBox([key()]);
    const sealed = box.seal('secret', ROW);
    expect(() => box.open(sealed, ['acme', 'guardrail_rules', 'r2'])).toThrow('altered or moved');
    expect(() => box.open(sealed, ['acmeguardrail_rules', 'r1'])).toThrow('altered or moved');
  });

  it('does not open a text that was altered anywhere', () => {
    const box = new AesSecretBox([key()]);
    const sealed = box.seal('secret', ROW);
    for (let at = sealed.lastIndexOf(':') + 1; at < sealed.length - 1; at++) {
      const altered = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
      expect(() => box.open(altered, ROW)).toThrow();
    }
  });

  it('opens with an old key and seals with the new one', () => {
    const [oldKey, newKey] = [key(), key()];
    const sealed = new AesSecretBox([oldKey]).seal('secret', ROW);
    const rotated = new AesSecretBox([newKey, oldKey]);
    expect(rotated.open(sealed, ROW)).toBe('secret');
    expect(() => new AesSecretBox([oldKey]).open(rotated.seal('secret', ROW), ROW)).toThrow('AGENTLENS_SECRET_KEY');
  });

  it('distinguishes sealed text from any other', () => {
    const box = new AesSecretBox([key()]);
    expect(box.isSealed(box.seal('', ROW))).toBe(true);
    for (const text of ['', 'sealed:', 'sealed:00000000:x', 'whsec_abc', '***abcd']) {
      expect(box.isSealed(text)).toBe(false);
      expect(() => box.open(text, ROW)).toThrow('Not a sealed text');
    }
  });

  it.each([[[]], [['short']], [[randomBytes(16).toString('base64')]]])('rejects keys %j', (keys) => {
    expect(() => new AesSecretBox(keys)).toThrow('openssl rand -base64 32');
  });
});
