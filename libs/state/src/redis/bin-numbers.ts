/**
 * Encoding of bin numbers for Redis: three bytes with seven bits each, lowest first. The encoded strings are ASCII, so
 * they are sent like other arguments, and as little-endian integers they sort like the bins.
 */
const DIGIT_BITS = 7;
const DIGIT = (1 << DIGIT_BITS) - 1;
const BYTE_BITS = 8;
const BYTES = 3;
/** Bins of a sketch are between -ZERO and ZERO (sketch.ts). */
const ZERO = 200_000;

/** The integer formed by a bin's three bytes. */
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

/** Encodes one bin number per value, largest first. */
export function valuesText(counts: ReadonlyMap<number, number>): string {
  let values = 0;
  for (const count of counts.values()) values += count;
  const bytes = Buffer.allocUnsafe(BYTES * values);
  let at = bytes.length;
  // Sorted numerically without a comparator and written from the end, so the smallest comes last.
  for (const bin of Int32Array.from(counts.keys()).sort()) {
    const number = numberOfBin(bin);
    for (let left = counts.get(bin) ?? 0; left > 0; left--) {
      at -= BYTES;
      bytes.writeUIntLE(number, at, BYTES);
    }
  }
  return bytes.toString('latin1');
}
