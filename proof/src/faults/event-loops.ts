import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PRELOAD = new URL('./preload/event-loop.ts', import.meta.url).href;
const NODE_OPTIONS = ['--import', PRELOAD];
const IDLE = 'idle';
const IDLE_PROGRAM = 'setInterval(() => undefined, 1_000)';

/** Measures the event loop delay of services. An idle process next to them measures the delay of the machine. */
export class EventLoops {
  readonly nodeOptions = NODE_OPTIONS;
  private readonly folder: string;
  private readonly idle: ChildProcess;
  private readonly names = new Set<string>();

  private constructor(folder: string) {
    this.folder = folder;
    this.idle = spawn(process.execPath, [...NODE_OPTIONS, '--eval', IDLE_PROGRAM], {
      stdio: 'ignore',
      env: { PATH: process.env.PATH ?? '', ...this.env(IDLE) },
    });
  }

  static async open(): Promise<EventLoops> {
    return new EventLoops(await mkdtemp(join(tmpdir(), 'agentlens-event-loops-')));
  }

  envOf<Name extends string>(services: readonly Name[]): Record<Name, Record<string, string>> {
    for (const name of services) this.names.add(name);
    return Object.fromEntries(services.map((name) => [name, this.env(name)])) as Record<Name, Record<string, string>>;
  }

  /** By service. If a service has several processes, the one that wrote last. */
  async p99s(): Promise<ReadonlyMap<string, number>> {
    const read = [...this.names].map(async (name) => [name, await this.p99(name)] as const);
    return new Map(await Promise.all(read));
  }

  idleP99(): Promise<number> {
    return this.p99(IDLE);
  }

  async close(): Promise<void> {
    this.idle.kill('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }

  private env(name: string): Record<string, string> {
    return { PROOF_EVENT_LOOP_FILE: this.file(name) };
  }

  private file(name: string): string {
    return join(this.folder, `${name}.json`);
  }

  private async p99(name: string): Promise<number> {
    const { p99Ms } = JSON.parse(await readFile(this.file(name), 'utf8')) as { readonly p99Ms: number };
    return p99Ms;
  }
}
