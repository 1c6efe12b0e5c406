import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram, freePort, NATS_PACKAGE, onPath } from '@agentlens/testing';
import { connect } from '@nats-io/transport-node';
import { childrenOf } from '../../harness/process-family.ts';
import { until } from '../../harness/time.ts';
import { NotHere } from '../fault.ts';
import { syncedFiles } from './synced-files.ts';

const CALLS = 'openat,write,pwrite64,fsync,fdatasync';
const DEADLINE_MS = 20_000;

export interface NatsRun {
  readonly url: string;
  /** Counts everything written so far as written back by the system. */
  writtenOut(): void;
  kill(): Promise<void>;
}

/** Starts a nats-server on `<folder>/data` and traces its writes and syncs to `<folder>/trace`. */
export async function tracedNats(folder: string, sync: string): Promise<NatsRun & { powerCut(): Promise<void> }> {
  const strace = onPath('strace');
  if (strace === undefined) throw new NotHere('needs strace to see what was synced, which is not installed here');
  const { command, env } = await findProgram('nats-server', 'nats-server', NATS_PACKAGE);
  const trace = join(folder, 'trace');
  let writtenOutBy = 0;
  const run = await start(folder, sync, (args) =>
    spawn(strace, ['-f', '-y', '-ttt', '-s', '0', '-e', `trace=${CALLS}`, '-o', trace, command, ...args], {
      stdio: 'ignore',
      env,
    }),
  );
  return {
    ...run,
    writtenOut: () => {
      writtenOutBy = Date.now() / 1_000;
    },
    /** Kills the server and discards what was not synced. */
    powerCut: async () => {
      await run.kill();
      await discardUnsynced(join(folder, 'data'), syncedFiles(await readFile(trace, 'utf8'), writtenOutBy));
    },
  };
}

/** Starts the same server on the same data, without tracing. */
export async function plainNats(folder: string): Promise<NatsRun> {
  const { command, env } = await findProgram('nats-server', 'nats-server', NATS_PACKAGE);
  return start(folder, 'always', (args) => spawn(command, args, { stdio: 'ignore', env }));
}

async function start(folder: string, sync: string, launch: (args: string[]) => ChildProcess): Promise<NatsRun> {
  const port = await freePort();
  const file = join(folder, 'server.conf');
  await mkdir(folder, { recursive: true });
  const store = join(folder, 'data');
  await writeFile(
    file,
    `host: 127.0.0.1\nport: ${port}\njetstream { store_dir: "${store}"\nsync_interval: ${sync} }\n`,
  );
  const child = launch(['-c', file]);
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = `nats://127.0.0.1:${port}`;
  await until(
    'the server to answer',
    async () => {
      if (child.exitCode !== null) throw new NotHere(`cannot trace the server here (exit ${child.exitCode})`);
      const connection = await connect({ servers: url, reconnect: false, timeout: 1_000 }).catch(() => undefined);
      await connection?.close();
      return connection === undefined ? undefined : true;
    },
    DEADLINE_MS,
  );
  return {
    url,
    writtenOut: () => undefined,
    kill: async () => {
      // Killing strace would let the server continue.
      const [traced = child.pid ?? 0] = childrenOf(child.pid ?? 0);
      process.kill(traced, 'SIGKILL');
      await gone;
    },
  };
}

async function discardUnsynced(data: string, synced: ReadonlyMap<string, number>): Promise<void> {
  for (const entry of await readdir(data, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = synced.get(path) ?? 0;
    if (bytes === 0) await rm(path);
    else await truncate(path, bytes);
  }
}
