import { describe, expect, it } from '@jest/globals';
import { unpackBins } from './unpack-bins.ts';

const packed = (...bytes: (number | string)[]) =>
  Buffer.concat(bytes.map((one) => (typeof one === 'string' ? Buffer.from(one) : Buffer.from([one]))));

describe('bins from Lua', () => {
  it('are none where the map is empty, which Lua takes for a list', () => {
    expect(unpackBins(packed(0x90))).toEqual({});
    expect(unpackBins(packed(0x80))).toEqual({});
  });

  it('may be counted with numbers of every size', () => {
    const bins = packed(
      ...[0x85, 0xa1, '0', 0x7f],
      ...[0xa2, '+5', 0xcc, 0xff],
      ...[0xa3, '-12', 0xcd, 0x01, 0x00],
      ...[0xa2, '+6', 0xce, 0x00, 0x01, 0x00, 0x00],
      ...[0xa2, '+7', 0xcf, 0, 0, 0, 1, 0, 0, 0, 0],
    );
    expect(unpackBins(bins)).toEqual({ '0': 127, '+5': 255, '-12': 256, '+6': 65_536, '+7': 2 ** 32 });
  });

  it('may be many', () => {
    expect(unpackBins(packed(0xde, 0x00, 0x01, 0xa1, '0', 1))).toEqual({ '0': 1 });
    expect(unpackBins(packed(0xdf, 0, 0, 0, 1, 0xa1, '0', 1))).toEqual({ '0': 1 });
  });

  it('are refused where they are something else', () => {
    expect(() => unpackBins(packed(0xc0))).toThrow('bins begin with 0xc0');
    expect(() => unpackBins(packed(0x81, 0xa1, '0', 0xcb, 0, 0))).toThrow('whole number');
  });
});
