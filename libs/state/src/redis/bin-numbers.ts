/**
 * Redis holds a bin's number in three bytes of which each is a digit of seven bits, the lowest first. So texts of such
 * numbers are ASCII: they go to Redis as they are among other arguments, and as little-endian integers they are in the
 * order of the bins.
 */
const DIGIT_BITS = 7;
const DIGIT = (1 << DIGIT_BITS) - 1;
const BYTE_BITS = 8;
const BYTES = 3;
/** Of a sketch's bins none is lower than this below zero, and none higher above it (sketch.ts). */
const ZERO = 200_000;

/** The integer that a bin's three bytes make. */
export function numberOfBin(bin: number): number {
  const number = bin + ZERO;
  return (
    (number & DIGIT) |
    (((number >> DIGIT_BITS) & DIGIT) << BYTE_BITS) |
    ((number >> (2 * DIGIT_BITS)) << (2 * BYTE_BITS))
  );
}

export function binOfNumber(integer: number): number {
  const number =
    (integer & DIGIT) |
    (((integer >> BYTE_BITS) & DIGIT) << DIGIT_BITS) |
    ((integer >> (2 * BYTE_BITS)) << (2 * DIGIT_BITS));
  return number - ZERO;
}

/** The numbers of the bins of values, one for each value, the greatest first. */
export function valuesText(counts: ReadonlyMap<number, number>): string {
  let values = 0;
  for (const count of counts.values()) values += count;
  const bytes = Buffer.allocUnsafe(BYTES * values);
  let at = bytes.length;
  // Sorted without a function to compare, so from the end: the least comes last.
  for (const bin of Int32Array.from(counts.keys()).sort()) {
    const number = numberOfBin(bin);
    for (let left = counts.get(bin) ?? 0; left > 0; left--) {
      at -= BYTES;
      bytes.writeUIntLE(number, at, BYTES);
    }
  }
  return bytes.toString('latin1');
}
