import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './program.ts';

const run = promisify(execFile);

/** A timeout that a busy machine does not reach. */
const PATIENT = ['--timeout', '60'];

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that keeps running, such as `tail`. */
export class FollowingCommand {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #printed = '';
  #onPrinted: () => void = () => {};

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#printed += chunk.toString();
        this.#onPrinted();
      });
    }
    this.#ended = new Promise((resolve) => {
      child.once('close', (code) => {
        resolve(code);
        this.#onPrinted();
      });
    });
  }

  get printed(): string {
    return this.#printed;
  }

  /** @throws Error if it ends without having printed this */
  async until(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.#printed)) {
      if (this.#child.exitCode !== null) throw new Error(`It ended without printing ${pattern}:\n${this.#printed}`);
      await new Promise<void>((resolve) => {
        this.#onPrinted = resolve;
      });
    }
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Ends its input. */
  end(): Promise<number | null> {
    this.#child.stdin?.end();
    return this.#ended;
  }

  interrupt(): Promise<number | null> {
    this.#child.kill('SIGINT');
    return this.#ended;
  }
}

/** The packed `agentlens` as a user has it: in a folder outside of this workspace, run by plain node. */
export class InstalledCli {
  readonly home: string;
  readonly env: Record<string, string | undefined>;

  constructor(home: string, env: Record<string, string | undefined>) {
    this.home = home;
    this.env = env;
  }

  static async install(home: string): Promise<InstalledCli> {
    const { stdout } = await run(process.execPath, [join(root, 'apps/cli/build/package.mjs'), home]);
    const dependencies = { '@agentlens/cli': `file:${stdout.trim()}` };
    await writeFile(join(home, 'package.json'), JSON.stringify({ private: true, dependencies }));
    const flags = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
    await run('npm', ['install', ...flags], { cwd: home });
    return new InstalledCli(home, { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, 'config') });
  }

  get program(): string {
    return join(this.home, 'node_modules/.bin/agentlens');
  }

  /** The same command with another environment. */
  with(env: Record<string, string>): InstalledCli {
    return new InstalledCli(this.home, { ...this.env, ...env });
  }

  run(...words: string[]): Promise<Ended> {
    return this.runWith('', ...words);
  }

  /** Runs the command with a text on stdin. */
  runWith(stdin: string, ...words: string[]): Promise<Ended> {
    return ended(this.#spawn(this.program, [...PATIENT, ...words]), stdin);
  }

  npx(...words: string[]): Promise<Ended> {
    return ended(this.#spawn('npx', ['--offline', '@agentlens/cli', ...words]), '');
  }

  start(...words: string[]): FollowingCommand {
    return new FollowingCommand(this.#spawn(this.program, [...PATIENT, ...words]));
  }

  #spawn(program: string, words: string[]) {
    return spawn(program, words, { cwd: this.home, env: this.env });
  }
}

async function ended(child: ReturnType<typeof spawn>, stdin: string): Promise<Ended> {
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk: Buffer) => {
      text[name] += chunk.toString();
    });
  }
  child.stdin?.end(stdin);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  return { code, ...text };
}
