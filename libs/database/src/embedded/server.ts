import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import type { PostgresBinaries, ServerUser } from './binaries.ts';
import { type Cluster, nameForServer, SUPERUSER } from './cluster.ts';

const LAST_LINES = 40;

export interface EmbeddedServer {
  readonly child: ChildProcess;
  readonly port: number;
  /** Resolves when the process has exited for any reason. */
  readonly ended: Promise<void>;
  isRunning(): boolean;
  /** Last lines of the server's log, for an error message. */
  lastWords(): string;
}

/**
 * Starts the server on a free loopback port, in its own process group: Ctrl-C at the terminal reaches only the
 * platform, which stops the database after it has drained.
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

const run = promisify(execFile);
const POLL_MS = 50;
const STOP_DEADLINE_MS = 15_000;
const CONNECT_TIMEOUT_MS = 2_000;
/** Held by the process that uses the server, for its lifetime. */
const OWNER_LOCK = 4_017_113_302;

export class DataDirectoryInUse extends Error {
  override readonly name = 'DataDirectoryInUse';
}

export function addressOf(cluster: Cluster, port: number, database: string): string {
  return `postgres://${SUPERUSER}:${encodeURIComponent(cluster.password)}@127.0.0.1:${port}/${database}`;
}

/**
 * Opens a session that marks the server as in use. It ends with the process, even after `kill -9`, which distinguishes
 * a server that outlived its AgentLens from one that is in use.
 * @throws DataDirectoryInUse
 */
export async function claimServer(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'agentlens-owner',
  });
  client.on('error', () => {
    // The server went away; the next statement reports it.
  });
  await client.connect();
  const { rows } = await client.query<{ free: boolean }>('select pg_try_advisory_lock($1) as free', [OWNER_LOCK]);
  if (rows[0]?.free === true) return client;
  await client.end();
  throw new DataDirectoryInUse('the database is in use by another AgentLens process');
}

/**
 * Prepares the start of a new server: stops one that a killed AgentLens left running, and removes the lock file of a
 * killed server if Postgres would refuse to (its process id now belongs to another program).
 * @throws DataDirectoryInUse if another AgentLens uses this folder
 */
export async function clearPreviousServer(cluster: Cluster): Promise<void> {
  const lock = await readLockFile(cluster.folder);
  if (lock === undefined) return;
  const owner = await claimServer(addressOf(cluster, lock.port, 'postgres')).catch((error: unknown) => {
    if (error instanceof DataDirectoryInUse) throw error;
    return undefined;
  });
  if (owner !== undefined) {
    // A server that accepts this cluster's random password is its server.
    await owner.end();
    await stopProcess(lock.pid);
    return;
  }
  if (!(await isPostgres(lock.pid))) await rm(join(cluster.folder, 'postmaster.pid'), { force: true });
}

/** Fast shutdown, forced after a timeout; the next start recovers. */
export async function stopProcess(pid: number): Promise<void> {
  signal(pid, 'SIGINT');
  const deadline = performance.now() + STOP_DEADLINE_MS;
  while (isAlive(pid)) {
    if (performance.now() > deadline) signal(pid, 'SIGQUIT');
    await delay(POLL_MS);
  }
}

async function readLockFile(folder: string): Promise<{ pid: number; port: number } | undefined> {
  const text = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid, , , port] = text.split('\n').map(Number);
  return pid && port ? { pid, port } : undefined;
}

async function isPostgres(pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  // Slim containers have no `ps`, and only Linux has /proc.
  const command =
    (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)) ??
    (await run('ps', ['-p', String(pid), '-o', 'args='])
      .then(({ stdout }) => stdout)
      .catch(() => 'postgres'));
  return command.includes('postgres');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has already exited.
  }
}
