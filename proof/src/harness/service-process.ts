import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { request } from 'undici';

export interface ServiceSpec {
  readonly name: string;
  /** Program to run with Node, an absolute path. */
  readonly entry: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Options of Node. */
  readonly nodeOptions?: readonly string[];
}

const READY_DEADLINE_MS = 40_000;
const STOP_DEADLINE_MS = 15_000;
const PROBE_EVERY_MS = 25;
/** An idle service logs almost nothing. One in trouble may log a line per message. */
const KEPT_LINES = 5_000;
const SHOWN_LINES = 60;

/**
 * A service as a separate process that can be killed and restarted in place. Keeps its recent output for the report.
 */
export class ServiceProcess {
  readonly name: string;
  readonly url: string;
  private spec: ServiceSpec;
  private child: ChildProcess | undefined;
  private readonly lines: string[] = [];
  /** Exits that the test did not request. */
  unexpectedExits = 0;
  private stopping = false;

  constructor(spec: ServiceSpec) {
    this.spec = spec;
    this.name = spec.name;
    this.url = `http://127.0.0.1:${spec.port}`;
  }

  get pid(): number {
    const pid = this.child?.pid;
    if (pid === undefined) throw new Error(`${this.name} is not running`);
    return pid;
  }

  get running(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Recent output, including that from before a kill. */
  get output(): readonly string[] {
    return this.lines;
  }

  lastOutput(): string {
    return this.lines.slice(-SHOWN_LINES).join('\n');
  }

  /** From its next start this is the service of another build. */
  useBuild(root: string): void {
    this.spec = { ...this.spec, entry: join(root, 'services', serviceOf(this.spec.entry), 'dist', 'main.js') };
  }

  /** Resolves when /readyz returns 200. Returns how long that took, in ms. */
  async start(): Promise<number> {
    const startedAt = performance.now();
    this.stopping = false;
    const child = spawn(
      process.execPath,
      [...ownNodeOptions(this.spec.entry), ...(this.spec.nodeOptions ?? []), this.spec.entry],
      {
        cwd: this.spec.cwd,
        env: {
          PATH: process.env.PATH ?? '',
          HOME: process.env.HOME ?? '',
          ...ownMallocOptions(this.spec.entry),
          ...this.spec.env,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.lines.push(...text.trimEnd().split('\n'));
        this.lines.splice(0, Math.max(0, this.lines.length - KEPT_LINES));
      });
    }
    child.once('exit', () => {
      if (!this.stopping) this.unexpectedExits += 1;
    });
    await this.ready();
    return performance.now() - startedAt;
  }

  async ready(): Promise<void> {
    const deadline = performance.now() + READY_DEADLINE_MS;
    for (;;) {
      if (!this.running) throw new Error(`${this.name} ended while starting:\n${this.lastOutput()}`);
      const answer = await request(`${this.url}/readyz`, { headersTimeout: 2_000, bodyTimeout: 2_000 }).catch(
        () => undefined,
      );
      await answer?.body.dump();
      if (answer?.statusCode === 200) return;
      if (performance.now() > deadline)
        throw new Error(`${this.name} was not ready within ${READY_DEADLINE_MS} ms:\n${this.lastOutput()}`);
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
    }
  }

  /** Sends a signal and, except for stop and continue, waits until the process is gone. Returns its exit code. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    const child = this.child;
    if (!child || !this.running) return child?.exitCode ?? null;
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') {
      child.kill(signal);
      return null;
    }
    this.stopping = true;
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
    await gone;
    clearTimeout(timer);
    return child.exitCode;
  }

  /** Sends SIGTERM. Returns the exit code and how long the drain took, in ms. */
  async stop(): Promise<{ readonly code: number | null; readonly ms: number }> {
    const startedAt = performance.now();
    const code = await this.kill('SIGTERM');
    return { code, ms: performance.now() - startedAt };
  }
}

/**
 * Node options of every service, from the build that `entry` belongs to. Older builds used one file for all, or none.
 */
function ownNodeOptions(entry: string): readonly string[] {
  return wordsOf(entry, [`node-options.${serviceOf(entry)}`, 'node-options']);
}

/** The same for the C library. */
function ownMallocOptions(entry: string): Record<string, string> {
  return Object.fromEntries(wordsOf(entry, [`malloc-options.${serviceOf(entry)}`]).map((word) => word.split('=', 2)));
}

function serviceOf(entry: string): string {
  return basename(join(entry, '../..'));
}

/** Words of the first of these files that exists in a build's `scripts`. */
function wordsOf(entry: string, names: readonly string[]): readonly string[] {
  const scripts = join(entry, '../../../../scripts');
  const file = names.map((name) => join(scripts, name)).find(existsSync);
  return file === undefined ? [] : readFileSync(file, 'utf8').trim().split(/\s+/);
}
