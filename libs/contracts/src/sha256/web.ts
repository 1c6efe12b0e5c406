/** Returns the first 32 bits of the fractional part of a root (FIPS 180-4, §4.2.2 and §5.3.3). */
const fraction = (root: number) => Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;

const PRIMES = Array.from({ length: 312 }, (_, n) => n).filter((n) => n > 1 && !hasDivisor(n));
const ROUNDS = PRIMES.slice(0, 64).map((prime) => fraction(Math.cbrt(prime)));
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));

/** SHA-256 (hex) of bytes, or of a text in UTF-8, for runtimes that only have an asynchronous hash. */
export function sha256Hex(content: string | Uint8Array): string {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  const padded = new DataView(new ArrayBuffer(((bytes.length + 72) >> 6) << 6));
  for (const [i, byte] of bytes.entries()) padded.setUint8(i, byte);
  padded.setUint8(bytes.length, 0x80);
  padded.setBigUint64(padded.byteLength - 8, BigInt(bytes.length) * 8n);
  let state = START;
  for (let at = 0; at < padded.byteLength; at += 64) state = compressed(state, padded, at);
  return state.map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

function compressed(state: readonly number[], data: DataView, at: number): number[] {
  const words = new Int32Array(64);
  const word = (i: number) => words[i] ?? 0;
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (const [i, constant] of ROUNDS.entries()) {
    words[i] =
      i < 16
        ? data.getInt32(at + i * 4)
        : word(i - 16) + small(word(i - 15), 7, 18, 3) + word(i - 7) + small(word(i - 2), 17, 19, 10);
    const one = (h + large(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + constant + word(i)) | 0;
    const two = (large(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [a, b, c, d, e, f, g, h] = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g];
  }
  return [a, b, c, d, e, f, g, h].map((value, i) => (value + (state[i] ?? 0)) | 0);
}

const turned = (x: number, bits: number) => (x >>> bits) | (x << (32 - bits));
const large = (x: number, p: number, q: number, r: number) => turned(x, p) ^ turned(x, q) ^ turned(x, r);
const small = (x: number, p: number, q: number, shift: number) => turned(x, p) ^ turned(x, q) ^ (x >>> shift);

function hasDivisor(n: number): boolean {
  for (let divisor = 2; divisor * divisor <= n; divisor++) if (n % divisor === 0) return true;
  return false;
}
