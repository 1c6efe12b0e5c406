import { createInterface } from 'node:readline/promises';
import { type Readable, Writable } from 'node:stream';
import type { TextSink } from './output/output.ts';

export type PromptInput = Readable & { readonly isTTY?: boolean };

/** Asks a person at a terminal. Questions go to stderr: stdout is for data. */
export class Prompt {
  readonly #input: PromptInput;
  readonly #output: TextSink;
  readonly #signal: AbortSignal;

  constructor(input: PromptInput, output: TextSink, signal: AbortSignal) {
    this.#input = input;
    this.#output = output;
    this.#signal = signal;
  }

  /** @throws AbortError when `signal` fires before there is an answer */
  ask(question: string, signal?: AbortSignal): Promise<string> {
    return this.#answer(question, (text) => this.#output.write(text), signal);
  }

  /** Shows nothing of what is typed. */
  async askSecret(question: string): Promise<string> {
    this.#output.write(question);
    const answer = await this.#answer('', () => undefined);
    this.#output.write('\n');
    return answer;
  }

  async #answer(question: string, write: (text: string) => void, ending?: AbortSignal): Promise<string> {
    const output = new Writable({
      write(chunk: Buffer, _encoding, done) {
        write(chunk.toString());
        done();
      },
    });
    const lines = createInterface({ input: this.#input, output, terminal: true });
    const interrupted = new AbortController();
    lines.once('SIGINT', () => {
      interrupted.abort();
      process.kill(process.pid, 'SIGINT');
    });
    try {
      const signal = AbortSignal.any([this.#signal, interrupted.signal, ...(ending === undefined ? [] : [ending])]);
      return (await lines.question(question, { signal })).trim();
    } finally {
      lines.close();
    }
  }
}
