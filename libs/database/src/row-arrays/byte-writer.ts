const START_BYTES = 16_384;
/** What once had to hold more is not kept for it. */
const MOST_KEPT_BYTES = 2 * 1024 * 1024;
/** UTF-8 needs at most so many bytes for a UTF-16 unit. */
const MOST_BYTES_PER_UNIT = 3;
/** A text of so many characters is written sooner by a loop than by a call out of JavaScript. */
const SHORT = 48;
const LAST_ASCII = 0x7f;
const HIGH = 2 ** 32;

/** Values in the binary form of PostgreSQL, one after the other; each but `int32` with its length before it. */
export class ByteWriter {
  #buffer: Buffer;
  #end = 0;

  constructor(bytes = START_BYTES) {
    this.#buffer = Buffer.allocUnsafeSlow(bytes);
  }

  /** Begins again, over what was written. */
  clear(): void {
    this.#end = 0;
    if (this.#buffer.length > MOST_KEPT_BYTES) this.#buffer = Buffer.allocUnsafeSlow(START_BYTES);
  }

  /** Answers where it was written. */
  int32(value: number): number {
    this.#need(4);
    const at = this.#end;
    this.#end += 4;
    this.setInt32(at, value);
    return at;
  }

  /** By byte: there are fifty of them to an event, and a `DataView` is a call each wherever V8 has not inlined it. */
  setInt32(at: number, value: number): void {
    const buffer = this.#buffer;
    buffer[at] = value >>> 24;
    buffer[at + 1] = value >>> 16;
    buffer[at + 2] = value >>> 8;
    buffer[at + 3] = value;
  }

  /** Writes into `lengthAt` how many bytes came after it. */
  close(lengthAt: number): void {
    this.setInt32(lengthAt, this.#end - lengthAt - 4);
  }

  bool(value: boolean): void {
    this.int32(1);
    this.#need(1);
    this.#buffer[this.#end++] = Number(value);
  }

  /** @throws RangeError where it is not whole, or too big to be exact */
  int8(value: number): void {
    if (!Number.isSafeInteger(value)) throw new RangeError('a number is not whole or too big');
    this.int32(8);
    this.int32(Math.floor(value / HIGH));
    this.int32(value | 0);
  }

  /** @throws RangeError where it is not finite */
  float8(value: number): void {
    if (!Number.isFinite(value)) throw new RangeError('a number is too big');
    this.int32(8);
    this.#need(8);
    this.#buffer.writeDoubleBE(value, this.#end);
    this.#end += 8;
  }

  /** With one byte before it where `first` is given. @throws RangeError where it is no Unicode */
  text(value: string, first?: number): void {
    const lengthAt = this.int32(0);
    this.#need(value.length * MOST_BYTES_PER_UNIT + 1);
    if (first !== undefined) this.#buffer[this.#end++] = first;
    this.#end += this.#ascii(value) ? value.length : this.#unicode(value);
    this.close(lengthAt);
  }

  toBuffer(): Buffer {
    return this.#buffer.subarray(0, this.#end);
  }

  /** False where it is long, or not ASCII. */
  #ascii(value: string): boolean {
    const { length } = value;
    if (length > SHORT) return false;
    const buffer = this.#buffer;
    const from = this.#end;
    for (let index = 0; index < length; index++) {
      const code = value.charCodeAt(index);
      if (code > LAST_ASCII) return false;
      buffer[from + index] = code;
    }
    return true;
  }

  #unicode(value: string): number {
    if (!value.isWellFormed()) throw new RangeError('half a character');
    return this.#buffer.write(value, this.#end, 'utf8');
  }

  #need(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return;
    const bigger = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, this.#end + bytes));
    this.#buffer.copy(bigger, 0, 0, this.#end);
    this.#buffer = bigger;
  }
}
