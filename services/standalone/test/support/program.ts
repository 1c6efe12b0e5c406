import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../../..', import.meta.url));

/** A program of this repository as a user runs it, with everything it prints. */
export class Program {
  readonly #child: ChildProcess;
  readonly #exited: Promise<number | string>;
  #printed = '';
  #onPrinted: () => void = () => {};

  private constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#printed += chunk.toString('utf8');
        this.#onPrinted();
      });
    }
    this.#exited = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        resolve(code ?? signal ?? 'unknown');
        this.#onPrinted();
      });
    });
  }

  static run(script: string, env: Readonly<Record<string, string>> = {}, words: readonly string[] = []): Program {
    const { NODE_OPTIONS: _options, JEST_WORKER_ID: _worker, ...inherited } = process.env;
    const clean = Object.fromEntries(Object.entries(inherited).filter(([name]) => !name.startsWith('AGENTLENS_')));
    return new Program(spawn(process.execPath, [script, ...words], { cwd: root, env: { ...clean, ...env } }));
  }

  get printed(): string {
    return this.#printed;
  }

  /** Returns the output up to this text. @throws Error if the program ends without having printed it */
  async until(text: string): Promise<string> {
    while (!this.#printed.includes(text)) {
      const more = new Promise<'more'>((resolve) => {
        this.#onPrinted = () => resolve('more');
      });
      const ended = await Promise.race([more, this.#exited]);
      if (ended !== 'more' && !this.#printed.includes(text)) {
        throw new Error(`It ended (${ended}) without printing "${text}":\n${this.#printed}`);
      }
    }
    return this.#printed;
  }

  /** The exit code, or the signal that ended it. */
  ended(): Promise<number | string> {
    return this.#exited;
  }

  signal(name: NodeJS.Signals): Promise<number | string> {
    this.#child.kill(name);
    return this.#exited;
  }
}
