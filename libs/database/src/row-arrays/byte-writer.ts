const START_BYTES = 16_384;
/** A larger buffer is released when cleared. */
const MAX_KEPT_BYTES = 2 * 1024 * 1024;
/** UTF-8 needs at most this many bytes per UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;
/** Strings up to this length are written faster by a loop than by a native call. */
const SHORT = 48;
const LAST_ASCII = 0x7f;
const HIGH = 2 ** 32;

/** Writes values in PostgreSQL's binary format. All except `int32` are prefixed with their length. */
export class ByteWriter {
  #buffer: Buffer;
  #end = 0;

  constructor(bytes = START_BYTES) {
    this.#buffer = Buffer.allocUnsafeSlow(bytes);
  }

  /** Starts over and overwrites the buffer. */
  clear(): void {
    this.#end = 0;
    if (this.#buffer.length > MAX_KEPT_BYTES) this.#buffer = Buffer.allocUnsafeSlow(START_BYTES);
  }

  /** Returns the offset it was written at. */
  int32(value: number): number {
    this.#need(4);
    const at = this.#end;
    this.#end += 4;
    this.setInt32(at, value);
    return at;
  }

  /** Byte by byte: there are fifty per event, and `DataView` is a function call wherever V8 has not inlined it. */
  setInt32(at: number, value: number): void {
    const buffer = this.#buffer;
    buffer[at] = value >>> 24;
    buffer[at + 1] = value >>> 16;
    buffer[at + 2] = value >>> 8;
    buffer[at + 3] = value;
  }

  /** Writes the number of bytes since `lengthAt` into it. */
  close(lengthAt: number): void {
    this.setInt32(lengthAt, this.#end - lengthAt - 4);
  }

  bool(value: boolean): void {
    this.int32(1);
    this.#need(1);
    this.#buffer[this.#end++] = Number(value);
  }

  /** @throws RangeError if the value is not a safe integer */
  int8(value: number): void {
    if (!Number.isSafeInteger(value)) throw new RangeError('the number is not a safe integer');
    this.int32(8);
    this.int32(Math.floor(value / HIGH));
    this.int32(value | 0);
  }

  /** @throws RangeError if the value is not finite */
  float8(value: number): void {
    if (!Number.isFinite(value)) throw new RangeError('the number is not finite');
    this.int32(8);
    this.#need(8);
    this.#buffer.writeDoubleBE(value, this.#end);
    this.#end += 8;
  }

  /** Writes text, after the byte `first` if given. @throws RangeError if it is not valid Unicode */
  text(value: string, first?: number): void {
    const lengthAt = this.int32(0);
    this.#need(value.length * MAX_BYTES_PER_UNIT + 1);
    if (first !== undefined) this.#buffer[this.#end++] = first;
    this.#end += this.#ascii(value) ? value.length : this.#unicode(value);
    this.close(lengthAt);
  }

  toBuffer(): Buffer {
    return this.#buffer.subarray(0, this.#end);
  }

  /** Returns false if the text is long or not ASCII. */
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
