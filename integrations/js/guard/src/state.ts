import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { HOST_IDS, type HostId, isRecord, text } from './hosts/host.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** Files of the guard. */
export interface GuardPaths {
  /** Configuration; only its user may enter. */
  readonly folder: string;
  readonly launcher: string;
  readonly config: string;
  readonly installed: string;
  readonly socket: string;
  readonly log: string;
  readonly journal: string;
  readonly spool: string;
}

export function guardPaths(env: Env): GuardPaths {
  const home = env.HOME ?? homedir();
  const folder = join(env.XDG_CONFIG_HOME || join(home, '.config'), 'agentlens', 'guard');
  return pathsIn(folder, join(env.XDG_STATE_HOME || join(home, '.local', 'state'), 'agentlens', 'guard'));
}

/** The paths for a folder that the launcher names, because the environment of a hook is not the user's. */
export function pathsIn(folder: string, state: string): GuardPaths {
  return {
    folder,
    launcher: join(folder, 'hook'),
    config: join(folder, 'guard.json'),
    installed: join(folder, 'installed.json'),
    socket: socketOf(folder),
    log: join(state, 'log'),
    journal: join(state, 'journal'),
    spool: join(state, 'spool.jsonl'),
  };
}

/** Limit of a socket address on Linux and macOS. */
const MAX_SOCKET_BYTES = 100;

function socketOf(folder: string): string {
  // No cryptography: loading it would slow every start.
  const name = Buffer.from(folder).toString('base64url').slice(-40);
  if (process.platform === 'win32') return `\\\\.\\pipe\\agentlens-guard-${name}`;
  const inside = join(folder, 'sock');
  return Buffer.byteLength(inside) < MAX_SOCKET_BYTES
    ? inside
    : join(tmpdir(), `agentlens-${process.getuid?.() ?? 0}-${name}`, 'sock');
}

export type Mode = 'observe' | 'enforce';
export type FailMode = 'closed' | 'open';

export interface HostSettings {
  readonly mode: Mode;
  readonly fail: FailMode;
  /** How long a call waits for an approval, in seconds. */
  readonly wait: number;
  readonly agent?: string;
  readonly version?: string;
}

export interface GuardConfig {
  readonly url: string;
  readonly key?: string;
  readonly hosts: Readonly<Partial<Record<HostId, HostSettings>>>;
  /** `none` keeps the contents of files on this machine. */
  readonly content: 'full' | 'none';
  /** Sends SIGTERM to the host three seconds after a kill order. */
  readonly killHost: boolean;
}

export const DEFAULT_WAIT_SECONDS = 240;
export const DEFAULT_SETTINGS: HostSettings = { mode: 'observe', fail: 'closed', wait: DEFAULT_WAIT_SECONDS };

/** The state of the guard cannot be used; the message says what to do. */
export class GuardStateError extends Error {
  override readonly name = 'GuardStateError';
}

/** @returns undefined if the file does not exist @throws GuardStateError if it is invalid or readable by others */
export function readConfig(file: string, { mayBeShared = false } = {}): GuardConfig | undefined {
  const content = readJson(file);
  if (content === undefined) return undefined;
  if (!mayBeShared && process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
    throw new GuardStateError(`other users can read the key in ${file}; run: chmod 600 ${file}`);
  if (!isRecord(content) || text(content.url) === undefined)
    throw new GuardStateError(`${file} names no address; run: agentlens guard setup`);
  const hosts = isRecord(content.hosts) ? content.hosts : {};
  return {
    url: String(content.url).replace(/\/+$/, ''),
    key: text(content.key),
    hosts: Object.fromEntries(
      HOST_IDS.flatMap((id) => (isRecord(hosts[id]) ? [[id, settingsOf(hosts[id])] as const] : [])),
    ),
    content: content.content === 'none' ? 'none' : 'full',
    killHost: content.killHost === true,
  };
}

function settingsOf(given: Readonly<Record<string, unknown>>): HostSettings {
  return {
    mode: given.mode === 'enforce' ? 'enforce' : 'observe',
    fail: given.fail === 'open' ? 'open' : 'closed',
    wait: typeof given.wait === 'number' && given.wait >= 0 ? given.wait : DEFAULT_WAIT_SECONDS,
    agent: text(given.agent),
    version: text(given.version),
  };
}

export function writeConfig(paths: GuardPaths, config: GuardConfig): void {
  makePrivateFolder(paths.folder);
  writeWhole(paths.config, `${JSON.stringify(config, null, 2)}\n`, 0o600);
}

export function makePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.platform !== 'win32') chmodSync(folder, 0o700);
}

/** @throws GuardStateError if another user owns the folder or may change it: what answers there is not the guard */
export function refuseForeignFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const { uid, mode } = statSync(folder);
  if (uid !== process.getuid?.() || (mode & 0o022) !== 0)
    throw new GuardStateError(`another user owns or may change ${folder}; remove it`);
}

/** Replaces a file by rename, so that a reader never sees half of it. */
export function writeWhole(file: string, content: string | Buffer, mode: number): void {
  const draft = `${file}.${process.pid}.new`;
  try {
    writeFileSync(draft, content, { mode });
    // The mode of a new file is reduced by the umask.
    chmodSync(draft, mode);
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

export function readJson(file: string): unknown {
  const content = readText(file);
  if (content === undefined) return undefined;
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new GuardStateError(`${file} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** One line of the journal: what was asked and answered, without arguments. */
export interface JournalLine {
  /** Epoch ms. */
  readonly t: number;
  readonly k: 'ask' | 'result' | 'latch' | 'unlatch' | 'alarm' | 'open' | 'start' | 'end' | 'usage' | 'change';
  readonly host: HostId;
  readonly session: string;
  readonly agent?: string;
  /** Call id of the host, if it has one; of a model call, the name under which it counts once. */
  readonly call?: string;
  /** Hash over tool and arguments. */
  readonly sig?: string;
  readonly tool?: string;
  readonly answer?: string;
  /** Call id under which the platform knows the call, if another. */
  readonly as?: string;
  readonly ok?: boolean;
  readonly note?: string;
}

export class Journal {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  write(line: JournalLine): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    appendFileSync(this.#fileOf(line.t), `${JSON.stringify(line)}\n`, { mode: 0o600 });
  }

  /**
   * All lines from `since` on, oldest first. A line that a crash cut off is skipped. @param containing text that a line
   * must have to be parsed at all
   */
  *read(since: number, containing = ''): Generator<JournalLine> {
    const from = dayOf(since);
    for (const file of this.#files().filter((name) => name >= from)) {
      for (const line of (readText(join(this.#folder, file)) ?? '').split('\n')) {
        const parsed = line.includes(containing) ? parsedLine(line) : undefined;
        if (parsed !== undefined && parsed.t >= since) yield parsed;
      }
    }
  }

  /** Removes days before `before`. */
  prune(before: number): void {
    const day = dayOf(before);
    for (const file of this.#files()) if (file < day) rmSync(join(this.#folder, file), { force: true });
  }

  #files(): string[] {
    try {
      return readdirSync(this.#folder)
        .filter((name) => name.endsWith('.jsonl'))
        .sort();
    } catch {
      // Nothing was asked yet.
      return [];
    }
  }

  #fileOf(t: number): string {
    return join(this.#folder, `${dayOf(t)}.jsonl`);
  }
}

function dayOf(t: number): string {
  return new Date(t).toISOString().slice(0, 10);
}

function parsedLine(line: string): JournalLine | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    return isRecord(parsed) && typeof parsed.t === 'number' ? (parsed as unknown as JournalLine) : undefined;
  } catch {
    return undefined;
  }
}

const MAX_LOG_BYTES = 1_000_000;

/** Appends to the log of the resident; keeps one older file. */
export function writeLog(paths: GuardPaths, message: string): void {
  mkdirSync(dirname(paths.log), { recursive: true, mode: 0o700 });
  try {
    if (statSync(paths.log).size > MAX_LOG_BYTES) renameSync(paths.log, `${paths.log}.1`);
  } catch {
    // There is no log yet.
  }
  appendFileSync(paths.log, `${new Date().toISOString()} ${message}\n`, { mode: 0o600 });
}
