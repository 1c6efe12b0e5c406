/** First bytes of a map, by how its size is kept; a map without entries is packed as a list (`0x90`). */
const FIXED_MAP = 0x80;
const EMPTY_LIST = 0x90;
const MAP_16 = 0xde;
const MAP_32 = 0xdf;
/** First bytes of a number of 1, 2, 4 and 8 bytes; below them are the small numbers themselves. */
const INTEGERS = [0xcc, 0xcd, 0xce, 0xcf];
const FIXED_TEXT = 0xa0;

/**
 * Bins of a sketch as Lua's cmsgpack writes them: a MessagePack map of short names to whole numbers.
 * @throws Error where it is anything else
 */
export function unpackBins(packed: Buffer): Record<string, number> {
  const bins: Record<string, number> = {};
  let [left, at] = sizeOf(packed);
  for (; left > 0; left--) {
    const end = at + 1 + (packed.readUInt8(at) - FIXED_TEXT);
    const bin = packed.toString('latin1', at + 1, end);
    const first = packed.readUInt8(end);
    const size = first < FIXED_MAP ? 0 : 2 ** INTEGERS.indexOf(first);
    bins[bin] = size === 0 ? first : integerAt(packed, end + 1, size);
    at = end + 1 + size;
  }
  return bins;
}

/** Number of entries, and where they begin. */
function sizeOf(packed: Buffer): [size: number, at: number] {
  const first = packed.readUInt8(0);
  if (first === EMPTY_LIST) return [0, 1];
  if (first === MAP_16) return [packed.readUInt16BE(1), 3];
  if (first === MAP_32) return [packed.readUInt32BE(1), 5];
  if (first >= FIXED_MAP && first < EMPTY_LIST) return [first - FIXED_MAP, 1];
  throw new Error(`bins begin with 0x${first.toString(16)}`);
}

function integerAt(packed: Buffer, at: number, size: number): number {
  if (size === 8) return Number(packed.readBigUInt64BE(at));
  if (size === 1 || size === 2 || size === 4) return packed.readUIntBE(at, size);
  throw new Error('a bin holds no whole number');
}
