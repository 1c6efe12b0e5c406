import { chmodSync, closeSync, mkdirSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { dirname } from 'node:path';
import { isRecord } from '../hosts/host.ts';
import { isHostId } from '../hosts/index.ts';
import {
  type Env,
  type GuardConfig,
  GuardStateError,
  type GuardPaths,
  Journal,
  readConfig,
  refuseForeignFolder,
  writeLog,
} from '../state.ts';
import { bodyOf, REFUSED, residentAnswers } from './ask-resident.ts';
import { Guard } from './guard.ts';
import { Outbox } from './outbox.ts';
import { NoDecision, PlatformClient } from './platform.ts';

const IDLE_MS = 30 * 60_000;
const SWEEP_MS = 1_000;
const LOCK_MS = 5_000;
const KEEP_JOURNAL_MS = 30 * 24 * 3_600_000;

export interface ResidentOptions {
  readonly paths: GuardPaths;
  readonly env: Env;
  /** Configuration that an administrator rolled out. */
  readonly managed?: string;
  readonly pollMs?: number;
}

export interface Resident {
  readonly stop: () => Promise<void>;
  /** Resolves when the resident has stopped by itself. */
  readonly stopped: Promise<void>;
}

/** Starts the local process that answers the hooks of all hosts. @returns null if another one already does */
export async function startResident(options: ResidentOptions): Promise<Resident | null> {
  const { paths, env } = options;
  const server = createServer();
  // A call may wait for an approval longer than any default.
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  // Journal and spool belong to the resident that owns the socket, so a loser must not reach the lines below.
  if (!(await listen(server, paths))) return null;
  const log = (message: string) => writeLog(paths, message);
  const config = () => currentConfig(options);
  const address = () => {
    const current = config();
    if (current?.key === undefined) throw new NoDecision('no key; run: agentlens guard login', true);
    return { url: current.url, key: current.key };
  };
  const client = new PlatformClient(address);
  const journal = new Journal(paths.journal);
  const outbox = new Outbox({ send: (agentId, events) => client.sendEvents(agentId, events), spool: paths.spool, log });
  const actor = env.AGENTLENS_ACTOR === '' ? undefined : env.AGENTLENS_ACTOR;
  const guard = new Guard({
    paths,
    config,
    client,
    outbox,
    journal,
    now: Date.now,
    log,
    actor,
    pollMs: options.pollMs,
  });
  let finish = () => {};
  const stopped = new Promise<void>((resolve) => {
    finish = resolve;
  });
  server.on('request', (incoming, outgoing) => {
    void answer(guard, incoming, () => void stop()).then(
      ({ status, text }) => outgoing.writeHead(status, { 'content-type': 'application/json' }).end(text),
      (error) => {
        log(`a hook failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
        outgoing.writeHead(500).end();
      },
    );
  });
  try {
    journal.prune(Date.now() - KEEP_JOURNAL_MS);
  } catch (error) {
    // A socket that still listens would keep this process alive.
    server.close();
    throw error;
  }
  const sweeping = setInterval(() => {
    guard.sweep();
    if (Date.now() - guard.lastCallAt > IDLE_MS && !guard.hasLiveHosts) void stop();
  }, SWEEP_MS);
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      clearInterval(sweeping);
      server.close();
      await guard.close();
      server.closeAllConnections();
      finish();
    })();
    return stopping;
  };
  log(`started, process ${process.pid}`);
  return { stop, stopped };
}

/** The administrator's configuration with the user's key, or the user's own. */
function currentConfig({ paths, managed }: ResidentOptions): GuardConfig | undefined {
  const own = readConfig(paths.config);
  if (managed === undefined) return own;
  const rolledOut = readConfig(managed, { mayBeShared: true });
  if (rolledOut === undefined) throw new GuardStateError(`${managed} is missing`);
  return { ...rolledOut, key: own?.url === rolledOut.url ? own.key : undefined };
}

async function answer(
  guard: Guard,
  incoming: IncomingMessage,
  stop: () => void,
): Promise<{ status: number; text: string }> {
  const [, first = '', event = ''] = (incoming.url ?? '').split('/');
  if (incoming.method === 'GET' && first === 'status')
    return { status: 200, text: JSON.stringify({ pid: process.pid, ...guard.status }) };
  if (incoming.method !== 'POST') return { status: 405, text: '{}' };
  if (first === 'stop') {
    setImmediate(stop);
    return { status: 200, text: '{}' };
  }
  if (!isHostId(first)) return { status: 404, text: '{}' };
  const input: unknown = JSON.parse(await bodyOf(incoming));
  if (!isRecord(input)) throw new Error('the hook input is no object');
  const parent = Number(incoming.headers['x-guard-parent']);
  const parentPid = Number.isInteger(parent) && parent > 1 ? parent : undefined;
  const { output, refusal } = await guard.handle({ host: first, event, input, parentPid });
  // The launcher prints the first line and ends with exit code 2 and the rest as the reason.
  return refusal === undefined ? { status: 200, text: output } : { status: REFUSED, text: `${output}\n${refusal}` };
}

/** Listens on the socket. @returns false if a living resident owns it */
async function listen(server: Server, paths: GuardPaths): Promise<boolean> {
  const { socket } = paths;
  if (process.platform !== 'win32') mkdirSync(dirname(socket), { recursive: true, mode: 0o700 });
  refuseForeignFolder(dirname(socket));
  if (await tryListen(server, socket)) return true;
  if (await residentAnswers(paths)) return false;
  // The socket is left over from a process that crashed. Only one of several starters may remove it.
  const lock = `${socket}.lock`;
  if (!takeLock(lock)) return false;
  try {
    if (await residentAnswers(paths)) return false;
    rmSync(socket, { force: true });
    return await tryListen(server, socket);
  } finally {
    rmSync(lock, { force: true });
  }
}

function takeLock(lock: string): boolean {
  try {
    if (Date.now() - statSync(lock).mtimeMs > LOCK_MS) rmSync(lock, { force: true });
  } catch {
    // No other process starts at the moment.
  }
  try {
    closeSync(openSync(lock, 'wx', 0o600));
    writeFileSync(lock, String(process.pid));
    return true;
  } catch {
    return false;
  }
}

function tryListen(server: Server, socket: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => {
      server.off('listening', listening);
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    };
    const listening = () => {
      server.off('error', failed);
      if (process.platform !== 'win32') chmodSync(socket, 0o600);
      resolve(true);
    };
    server.once('error', failed);
    server.once('listening', listening);
    server.listen(socket);
  });
}
