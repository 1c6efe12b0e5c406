import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { serverUser } from './binaries.ts';
import { type Cluster, clusterHome, makeCluster, usableBinaries } from './cluster.ts';
import {
  addressOf,
  claimServer,
  clearPreviousServer,
  DataDirectoryInUse,
  type EmbeddedServer,
  spawnServer,
  stopProcess,
} from './server.ts';

const DATABASE = 'agentlens';
const POLL_MS = 25;
/** Covers crash recovery, and the time until the last backends of a killed server exit. */
const START_DEADLINE_MS = 60_000;

export interface EmbeddedPostgres {
  readonly url: string;
  /** Fast shutdown; committed work is on disk. */
  stop(): Promise<void>;
}

/**
 * Runs a Postgres server below `dataDir`, on loopback with a random port and a random password. Created on first use;
 * later starts find the data again, even after a crash.
 * @throws DataDirectoryInUse if another AgentLens process uses the folder
 */
export async function startEmbeddedPostgres(options: {
  readonly dataDir: string;
  readonly log?: (line: string) => void;
  /** The server ended without `stop`; nothing starts it again. */
  readonly onLost?: () => void;
}): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => {});
  const user = await serverUser();
  const binaries = await usableBinaries(user);
  const home = await clusterHome(options.dataDir, user);
  const cluster = await makeCluster(home, binaries, user);
  const deadline = performance.now() + START_DEADLINE_MS;
  for (;;) {
    await clearPreviousServer(cluster);
    const server = await spawnServer(binaries, cluster.folder, user, log);
    const owner = await whenReady(server, cluster, deadline);
    if (owner !== undefined) return handle(server, owner, cluster, options.onLost ?? (() => {}));
    // It exited immediately: another process was faster, the port was taken, or a killed server still holds memory.
    if (performance.now() > deadline) throw new Error(`Postgres did not start in ${home}:\n${server.lastWords()}`);
    await delay(POLL_MS * 10);
  }
}

/** The owner's session, or undefined if the server exited instead. */
async function whenReady(server: EmbeddedServer, cluster: Cluster, deadline: number): Promise<pg.Client | undefined> {
  while (server.isRunning()) {
    try {
      return await claimServer(addressOf(cluster, server.port, 'postgres'));
    } catch (error) {
      if (error instanceof DataDirectoryInUse) throw error;
      if (performance.now() > deadline) {
        server.child.kill('SIGQUIT');
        throw new Error(`Postgres did not become ready:\n${server.lastWords()}`, { cause: error });
      }
    }
    await delay(POLL_MS);
  }
  return undefined;
}

async function handle(
  server: EmbeddedServer,
  owner: pg.Client,
  cluster: Cluster,
  onLost: () => void,
): Promise<EmbeddedPostgres> {
  // Stops the server if this process exits without calling `stop`, for example after an uncaught error.
  const atExit = (): void => {
    server.child.kill('SIGINT');
  };
  process.once('exit', atExit);
  const found = await owner.query('select from pg_database where datname = $1', [DATABASE]);
  if (found.rowCount === 0) await owner.query(`create database ${DATABASE}`);
  let isStopping = false;
  // Its session ends with the server, which is noticed below.
  owner.on('error', () => undefined);
  void server.ended.then(() => {
    if (!isStopping) onLost();
  });
  return {
    url: addressOf(cluster, server.port, DATABASE),
    stop: async () => {
      isStopping = true;
      process.removeListener('exit', atExit);
      await owner.end().catch(() => undefined);
      if (server.isRunning() && server.child.pid !== undefined) await stopProcess(server.child.pid);
      await server.ended;
    },
  };
}
