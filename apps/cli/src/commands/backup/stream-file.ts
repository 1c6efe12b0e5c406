import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { StreamHead } from './stream-snapshots.ts';

const LENGTH_BYTES = 4;
/** A part has 128 KiB; a length beyond this is not one of ours. */
const MAX_PART_BYTES = 64 * 1024 * 1024;

/**
 * A file of stream snapshots: parts with their length in front of them. Each stream has its head as JSON, its parts and an
 * empty part; another empty part ends the file, so that a cut file is noticed.
 */
export class StreamFileWriter {
  readonly #to: Writable;

  constructor(to: Writable) {
    this.#to = to;
  }

  async writeHead(head: StreamHead): Promise<void> {
    await this.writePart(Buffer.from(JSON.stringify(head)));
  }

  async writePart(part: Uint8Array): Promise<void> {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(part.length);
    if (!this.#to.write(Buffer.concat([length, part]))) await once(this.#to, 'drain');
  }

  async end(): Promise<void> {
    await this.writePart(Buffer.alloc(0));
  }
}

export class StreamFileReader {
  readonly #from: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(from: Readable) {
    this.#from = from[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** The head of the next stream, or null at the end of the file. */
  async readHead(): Promise<StreamHead | null> {
    const part = await this.#readPart();
    return part.length === 0 ? null : (JSON.parse(part.toString()) as StreamHead);
  }

  /** The parts of the stream whose head was read last. */
  async *readParts(): AsyncGenerator<Uint8Array> {
    for (let part = await this.#readPart(); part.length > 0; part = await this.#readPart()) yield part;
  }

  async #readPart(): Promise<Buffer> {
    const length = (await this.#take(LENGTH_BYTES)).readUInt32BE();
    if (length > MAX_PART_BYTES) throw new Error('This is not a file of streams of a backup');
    return this.#take(length);
  }

  async #take(count: number): Promise<Buffer> {
    const parts = [this.#rest];
    let available = this.#rest.length;
    while (available < count) {
      const { done, value } = await this.#from.next();
      if (done === true) throw new Error('The file of streams ends too early: the backup is not complete');
      parts.push(value);
      available += value.length;
    }
    const all = Buffer.concat(parts);
    this.#rest = all.subarray(count);
    return all.subarray(0, count);
  }
}
