import { StringDecoder } from 'node:string_decoder';
import type { Readable, Writable } from 'node:stream';

/** The lines of a stream, each with what ends it, so that it can be passed on byte for byte. */
export async function* linesOf(stream: Readable): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of stream) {
    rest += typeof chunk === 'string' ? chunk : decoder.write(chunk as Buffer);
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
      yield rest.slice(0, end + 1);
      rest = rest.slice(end + 1);
    }
  }
  rest += decoder.end();
  if (rest !== '') yield rest;
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

  write(text: string): Promise<void> {
    this.#last = this.#last.then(() => this.#write(text));
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
