import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { connect, createServer } from 'node:net';

/**
 * Ends a process when this one exits for any reason: a shell waits for the other end of a pipe to close. Otherwise a
 * killed test runner would leave its servers running.
 * @returns stops watching, for a process that has exited
 */
function endWithParent(pid: number): () => void {
  const watcher = spawn('/bin/sh', ['-c', `cat >/dev/null; kill -9 ${pid} 2>/dev/null`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Without a shell nothing watches, and the server may outlive its parent.
  watcher.once('error', () => undefined);
  watcher.stdin.once('error', () => undefined);
  watcher.unref();
  return () => watcher.kill('SIGKILL');
}

interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly port: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly gid?: number;
  /** Readiness check after the port is open; rejects while the server is not usable. */
  readonly ready?: () => Promise<void>;
  /** Signal to stop it. For Postgres, SIGINT is a fast shutdown. */
  readonly stopSignal?: NodeJS.Signals;
}

const READY_DEADLINE_MS = 30_000;
const STOP_DEADLINE_MS = 10_000;
const PROBE_EVERY_MS = 15;
const KEPT_OUTPUT = 4_000;

/** A server as a child process that can be started, stopped and restarted in place. */
export class ServerProcess {
  // No parameter property, because Jest's global setup loads this file with Node's type stripping.
  private readonly spec: ProcessSpec;
  private child: ChildProcess | undefined;
  private output = '';

  constructor(spec: ProcessSpec) {
    this.spec = spec;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  async start(): Promise<void> {
    const { spec } = this;
    const child = spawn(spec.command, spec.args, {
      env: spec.env ?? process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(spec.uid === undefined ? {} : { uid: spec.uid, gid: spec.gid }),
    });
    this.child = child;
    if (child.pid !== undefined) child.once('exit', endWithParent(child.pid));
    const keep = (chunk: Buffer) => {
      this.output = (this.output + chunk.toString('utf8')).slice(-KEPT_OUTPUT);
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    let failure: Error | undefined;
    child.once('error', (error) => {
      failure = error;
    });
    const deadline = performance.now() + READY_DEADLINE_MS;
    for (;;) {
      if (failure) throw new Error(`${spec.name} could not be started: ${failure.message}`, { cause: failure });
      if (child.exitCode !== null)
        throw new Error(`${spec.name} exited during start (exit ${child.exitCode}):\n${this.output}`);
      try {
        await probe(spec.port);
        await spec.ready?.();
        return;
      } catch (error) {
        if (performance.now() > deadline) {
          await this.kill('SIGKILL');
          throw new Error(`${spec.name} did not answer within ${READY_DEADLINE_MS} ms:\n${this.output}`, {
            cause: error,
          });
        }
        await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
      }
    }
  }

  /** Sends a signal. For SIGKILL and SIGTERM, waits until the process has exited. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') {
      child.kill(signal);
      return;
    }
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
    await gone;
    clearTimeout(timer);
  }

  async stop(): Promise<void> {
    await this.kill(this.spec.stopSignal ?? 'SIGTERM');
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }
}

function probe(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}

/**
 * Lowest and highest port tried. Below the ports for outgoing connections (Linux from 32,768, others from 49,152),
 * which could take a port between the check and the listen.
 */
const MIN_PORT = 12_000;
const MAX_PORT = 32_767;
const TRIES = 50;

/** Returns a free loopback port: the wanted one, if it is free. */
export async function freePort(wanted?: number): Promise<number> {
  if (wanted !== undefined && (await isFree(wanted))) return wanted;
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(MIN_PORT, MAX_PORT + 1);
    if (await isFree(port)) return port;
  }
  throw new Error(`none of ${TRIES} ports between ${MIN_PORT} and ${MAX_PORT} is free`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
