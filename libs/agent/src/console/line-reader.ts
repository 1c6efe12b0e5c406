import { createInterface, type Interface } from 'node:readline';

interface Waiter {
  readonly resolve: (line: string | null) => void;
}

/** Lines of a terminal. A question takes the next line before readers of ordinary input. */
export class LineReader {
  /** A human types here. */
  readonly isTerminal: boolean;
  readonly #interface: Interface;
  readonly #output: NodeJS.WritableStream;
  readonly #lines: string[] = [];
  readonly #questions: Waiter[] = [];
  readonly #readers: Waiter[] = [];
  #ended = false;

  constructor(input: NodeJS.ReadableStream, output: NodeJS.WritableStream, interrupted: () => void) {
    this.#output = output;
    this.isTerminal = 'isTTY' in input && input.isTTY === true;
    this.#interface = createInterface({ input, ...(this.isTerminal ? { output } : {}), terminal: this.isTerminal });
    this.#interface.on('line', (line) => this.#take(line));
    this.#interface.on('close', () => this.#end());
    this.#interface.on('SIGINT', interrupted);
  }

  /** Null at the end of the input. */
  next(prompt: string): Promise<string | null> {
    return this.#wait(this.#readers, prompt);
  }

  ask(question: string): Promise<string | null> {
    return this.#wait(this.#questions, question);
  }

  close(): void {
    this.#interface.close();
  }

  #wait(waiters: Waiter[], prompt: string): Promise<string | null> {
    const line = this.#lines.shift();
    if (line !== undefined) return Promise.resolve(line);
    if (this.#ended) return Promise.resolve(null);
    this.#output.write(prompt);
    return new Promise((resolve) => waiters.push({ resolve }));
  }

  #take(line: string): void {
    const waiter = this.#questions.shift() ?? this.#readers.shift();
    if (waiter === undefined) this.#lines.push(line);
    else waiter.resolve(line);
  }

  #end(): void {
    this.#ended = true;
    for (const { resolve } of [...this.#questions.splice(0), ...this.#readers.splice(0)]) resolve(null);
  }
}
