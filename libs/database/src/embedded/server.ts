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

const run = promisify(execFile);
const POLL_MS = 50;
const STOP_DEADLINE_MS = 15_000;
const CONNECT_TIMEOUT_MS = 2_000;
/** Held by whoever uses the server, for as long as its process lives. */
const OWNER_LOCK = 4_017_113_302;

export class DataDirectoryInUse extends Error {
  override readonly name = 'DataDirectoryInUse';
}

export function addressOf(cluster: Cluster, port: number, database: string): string {
  return `postgres://${SUPERUSER}:${encodeURIComponent(cluster.password)}@127.0.0.1:${port}/${database}`;
}

/**
 * A session that says "this server is in use". It ends with the process that opened it, even by `kill -9`, which is how
 * a server that outlived its AgentLens is told from one that another AgentLens works with.
 * @throws DataDirectoryInUse
 */
export async function claimServer(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'agentlens-owner',
  });
  client.on('error', () => {
    // The server went away; whoever asks it something hears of it there.
  });
  await client.connect();
  const { rows } = await client.query<{ free: boolean }>('select pg_try_advisory_lock($1) as free', [OWNER_LOCK]);
  if (rows[0]?.free === true) return client;
  await client.end();
  throw new DataDirectoryInUse('the database is in use by another AgentLens process');
}

/**
 * Clears the way for a new server: stops one that a killed AgentLens left running, and removes the lock file of a
 * killed server where Postgres would not dare to (its process id belongs to some other program now).
 * @throws DataDirectoryInUse where another AgentLens is alive on this folder.
 */
export async function clearPreviousServer(cluster: Cluster): Promise<void> {
  const lock = await readLockFile(cluster.folder);
  if (lock === undefined) return;
  const owner = await claimServer(addressOf(cluster, lock.port, 'postgres')).catch((error: unknown) => {
    if (error instanceof DataDirectoryInUse) throw error;
    return undefined;
  });
  if (owner !== undefined) {
    // Whoever takes this cluster's random password is its server.
    await owner.end();
    await stopProcess(lock.pid);
    return;
  }
  if (!(await isPostgres(lock.pid))) await rm(join(cluster.folder, 'postmaster.pid'), { force: true });
}

/** Fast shutdown; by force if that takes too long (recovery at the next start makes it good). */
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
  // Slim containers have no `ps`, and no other system has /proc.
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
    // Gone already.
  }
}
