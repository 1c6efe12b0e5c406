import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const COLOURS = [36, 33, 35, 32, 34];
let made = 0;
/** Pauses before restarts of a process that dies again quickly. */
const PAUSES_MS = [100, 500, 2_000, 5_000];
const STEADY_MS = 10_000;

/** A child process whose output lines are formatted and prefixed with its name, and that is restarted when it dies. */
export class Supervised {
  #options;
  #child;
  #wanted = true;
  #deaths = 0;
  #prefix;

  constructor(options) {
    this.#options = options;
    const label = options.name.padEnd(options.width);
    this.#prefix = process.stdout.isTTY ? `\u001b[${COLOURS[made++ % COLOURS.length]}m${label}\u001b[0m` : label;
  }

  get name() {
    return this.#options.name;
  }

  get pid() {
    return this.#child?.pid;
  }

  start() {
    const { command, args, env } = this.#options;
    const startedAt = performance.now();
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => this.say(this.#options.readable(line)));
    }
    child.once('error', (error) => this.say(`failed to start: ${error.message}`));
    child.once('exit', (code, signal) => {
      if (!this.#wanted) return;
      this.#deaths = performance.now() - startedAt > STEADY_MS ? 1 : this.#deaths + 1;
      const pause = PAUSES_MS[Math.min(this.#deaths, PAUSES_MS.length) - 1];
      this.say(`died (${signal ?? `exit ${code}`}), restarting in ${pause} ms`);
      setTimeout(() => this.#wanted && this.#again(), pause);
    });
  }

  say(line) {
    if (line !== '') process.stdout.write(`${this.#prefix}  ${line}\n`);
  }

  async stop() {
    this.#wanted = false;
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await gone;
  }

  #again() {
    this.start();
    this.say(`started again, pid ${this.pid}`);
  }
}
