const START_BYTES = 16_384;
/** What once had to hold more is not kept for it. */
const MOST_KEPT_BYTES = 2 * 1024 * 1024;
/** UTF-8 needs at most so many bytes for a UTF-16 unit. */
const MOST_BYTES_PER_UNIT = 3;
const HIGH = 2 ** 32;

/** Values in the binary form of PostgreSQL, one after the other; each but `int32` with its length before it. */
export class ByteWriter {
  #buffer: Buffer;
  #view: DataView;
  #end = 0;

  constructor(bytes = START_BYTES) {
    this.#buffer = Buffer.allocUnsafeSlow(bytes);
    this.#view = viewOf(this.#buffer);
  }

  /** Begins again, over what was written. */
  clear(): void {
    this.#end = 0;
    if (this.#buffer.length > MOST_KEPT_BYTES) this.#take(Buffer.allocUnsafeSlow(START_BYTES));
  }

  /** Answers where it was written. */
  int32(value: number): number {
    this.#need(4);
    const at = this.#end;
    this.#view.setInt32(at, value);
    this.#end += 4;
    return at;
  }

  setInt32(at: number, value: number): void {
    this.#view.setInt32(at, value);
  }

  /** Writes into `lengthAt` how many bytes came after it. */
  close(lengthAt: number): void {
    this.#view.setInt32(lengthAt, this.#end - lengthAt - 4);
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
    this.#view.setFloat64(this.#end, value);
    this.#end += 8;
  }

  /** With one byte before it where `first` is given. @throws RangeError where it is no Unicode */
  text(value: string, first?: number): void {
    if (!value.isWellFormed()) throw new RangeError('half a character');
    const lengthAt = this.int32(0);
    this.#need(value.length * MOST_BYTES_PER_UNIT + 1);
    if (first !== undefined) this.#buffer[this.#end++] = first;
    this.#end += this.#buffer.write(value, this.#end, 'utf8');
    this.close(lengthAt);
  }

  toBuffer(): Buffer {
    return this.#buffer.subarray(0, this.#end);
  }

  #need(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return;
    const bigger = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, this.#end + bytes));
    this.#buffer.copy(bigger, 0, 0, this.#end);
    this.#take(bigger);
  }

  #take(buffer: Buffer): void {
    this.#buffer = buffer;
    this.#view = viewOf(buffer);
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
