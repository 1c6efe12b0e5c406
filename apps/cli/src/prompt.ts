import { createInterface } from 'node:readline/promises';
import { type Readable, Writable } from 'node:stream';
import type { TextSink } from './output/output.ts';

export type PromptInput = Readable & { readonly isTTY?: boolean };

/** Prompts a person at a terminal, on stderr: stdout is for data. */
export class Prompt {
  readonly #input: PromptInput;
  readonly #output: TextSink;
  readonly #signal: AbortSignal;

  constructor(input: PromptInput, output: TextSink, signal: AbortSignal) {
    this.#input = input;
    this.#output = output;
    this.#signal = signal;
  }

  /** @throws AbortError if `signal` aborts before there is an answer */
  ask(question: string, signal?: AbortSignal): Promise<string> {
    return this.#answer(question, { isSecret: false, signal });
  }

  /** Does not echo the typed text. */
  async askSecret(question: string): Promise<string> {
    const answer = await this.#answer(question, { isSecret: true });
    this.#output.write('\n');
    return answer;
  }

  async #answer(
    question: string,
    asked: { readonly isSecret: boolean; readonly signal?: AbortSignal },
  ): Promise<string> {
    let isMuted = false;
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (!isMuted) this.#output.write(chunk.toString());
        done();
      },
    });
    // Start reading, which turns the terminal's echo off, before showing the question.
    const lines = createInterface({ input: this.#input, output, terminal: true });
    // In raw mode Ctrl-C is an ordinary key, so raise the signal here.
    lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    try {
      const signals = [this.#signal, asked.signal].filter((signal) => signal !== undefined);
      const answering = lines.question(question, { signal: AbortSignal.any(signals) });
      isMuted = asked.isSecret;
      return (await answering).trim();
    } finally {
      lines.close();
    }
  }
}
