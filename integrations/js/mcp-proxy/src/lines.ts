import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** A longer message is refused. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** The lines of a stream without their ends; null for one that is longer than `max` characters. */
export async function* linesOf(stream: Readable, max = MAX_MESSAGE_BYTES): AsyncGenerator<string | null> {
  const decoder = new StringDecoder('utf8');
  let parts: string[] = [];
  let length = 0;
  const take = (part: string) => {
    length += part.length;
    if (length <= max) parts.push(part);
    else parts = [];
  };
  const finish = () => {
    const line = length <= max ? parts.join('') : null;
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of stream) {
    const text = typeof chunk === 'string' ? chunk : decoder.write(chunk as Buffer);
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      take(text.slice(from, end));
      yield finish();
      from = end + 1;
    }
    take(text.slice(from));
  }
  take(decoder.end());
  if (length > 0) yield finish();
}

/** The whole of a stream as text; undefined once it is longer than `max` bytes. */
export async function textWithin(stream: Readable, max: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += (chunk as Buffer).length;
    if (bytes > max) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Writes in order, and waits while the reader is behind. What its reader has left is dropped. */
export class LineWriter {
  readonly #stream: Writable;
  #last: Promise<void> = Promise.resolve();

  constructor(stream: Writable) {
    this.#stream = stream;
    // A reader that goes away is noticed by its own end; writing to it is no mistake.
    stream.on('error', () => undefined);
  }

  write(line: string): Promise<void> {
    this.#last = this.#last.then(() => this.#write(`${line}\n`));
    return this.#last;
  }

  #write(text: string): Promise<void> | undefined {
    if (this.#stream.destroyed || this.#stream.writableEnded) return undefined;
    if (this.#stream.write(text)) return undefined;
    return new Promise((resolve) => {
      const done = () => {
        for (const event of ['drain', 'close', 'error']) this.#stream.off(event, done);
        resolve();
      };
      for (const event of ['drain', 'close', 'error']) this.#stream.on(event, done);
    });
  }
}
