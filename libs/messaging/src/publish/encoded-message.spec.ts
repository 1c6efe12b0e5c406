import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cloudEventHeaders, decodeHeader, encodeHeader } from './encoded-message.ts';

describe('message headers', () => {
  it('percent-encode exactly the characters that the CloudEvents NATS binding lists', () => {
    expect(encodeHeader('plain/id-1_~')).toBe('plain/id-1_~');
    expect(encodeHeader('Euro € 😀')).toBe('Euro%20%E2%82%AC%20%F0%9F%98%80');
    expect(encodeHeader('50% "off"')).toBe('50%25%20%22off%22');
  });

  it('prevent header injection', () => {
    expect(encodeHeader('id\r\nNats-Rollup: all')).not.toMatch(/[\r\n]/);
  });

  it('round-trip any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const wire = encodeHeader(text);
        expect(wire).toMatch(/^[\x21-\x7e]*$/);
        expect(decodeHeader(wire)).toBe(text.toWellFormed());
      }),
    );
  });

  it('return values from other publishers unchanged if they are not encoded', () => {
    expect(decodeHeader('100% sure')).toBe('100% sure');
  });

  it('omit an absent CloudEvents subject', () => {
    const event = { id: 'i', source: 's', type: 't', time: '2026-03-01T12:00:00.000Z' };
    expect(cloudEventHeaders(event)).not.toHaveProperty('ce-subject');
  });
});
