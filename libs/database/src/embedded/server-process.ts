import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { nameForServer } from './cluster-home.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import type { ServerUser } from './server-user.ts';

const LAST_LINES = 40;

export interface EmbeddedServer {
  readonly child: ChildProcess;
  readonly port: number;
  /** Resolves when the process has ended, however. */
  readonly ended: Promise<void>;
  isRunning(): boolean;
  /** The newest lines of the server's log, for an error message. */
  lastWords(): string;
}

/**
 * Starts the server on a free loopback port. In a process group of its own: a Ctrl-C at the terminal reaches the
 * platform only, which stops the database after it has drained.
 */
export async function spawnServer(
  binaries: PostgresBinaries,
  folder: string,
  user: ServerUser | undefined,
  log: (line: string) => void,
): Promise<EmbeddedServer> {
  const name = await nameForServer(folder, user);
  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'timezone=UTC', 'log_timezone=UTC'];
  const flags = settings.flatMap((setting) => ['-c', setting]);
  const child = spawn(binaries.postgres, ['-D', name, '-p', String(port), ...flags], {
    ...user,
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => {
    for (const line of chunk.toString('utf8').split('\n').filter(Boolean)) {
      lines.push(line);
      log(line);
    }
    lines.splice(0, Math.max(0, lines.length - LAST_LINES));
  });
  let running = true;
  const ended = new Promise<void>((resolve) => {
    const end = (error?: unknown): void => {
      if (error instanceof Error) lines.push(error.message);
      running = false;
      resolve();
    };
    child.once('error', end);
    child.once('close', () => end());
  });
  return { child, port, ended, isRunning: () => running, lastWords: () => lines.join('\n') };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => (address !== null && typeof address === 'object' ? resolve(address.port) : reject()));
    });
  });
}
