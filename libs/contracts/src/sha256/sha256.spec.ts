import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sha256Hex as ofNode } from './node.ts';
import { sha256Hex as ofWeb } from './web.ts';

describe('the portable hash', () => {
  it('equals the native one for any text and bytes', () => {
    const content = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.uint8Array({ maxLength: 300 }));
    fc.assert(fc.property(content, (given) => expect(ofWeb(given)).toBe(ofNode(given))));
  });

  it.each([0, 55, 56, 63, 64, 119, 120, 1_000])('equals the native one for %i bytes', (length) => {
    expect(ofWeb(new Uint8Array(length).fill(7))).toBe(ofNode(new Uint8Array(length).fill(7)));
  });
});
