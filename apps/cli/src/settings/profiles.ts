import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CommandError, EXIT } from '../errors.ts';
import { PROGRAM } from '../program-name.ts';

/** Environment variables. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Parses a JSON file; undefined if it does not exist. */
export function readJsonFile(file: string): unknown {
  const text = readTextFile(file);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommandError(`${file} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Reads a text file; undefined if it does not exist. */
export function readTextFile(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CommandError(`${file} cannot be read: ${message}`);
  }
}

/** Replaces a file as a whole, which only the user may read; after the return it survives a power cut. */
export function replaceFile(file: string, text: string): void {
  const draft = `${file}.${process.pid}`;
  try {
    const descriptor = openSync(draft, 'w', 0o600);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  // Windows cannot open folders; there the rename is durable by itself.
  if (process.platform === 'win32') return;
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** @throws CommandError if others may read the file, which holds a secret */
export function refuseOpenFile(file: string, secret: 'key' | 'keys'): void {
  if (process.platform === 'win32') return;
  if ((statSync(file).mode & 0o077) === 0) return;
  throw new CommandError(`Other users can read the ${secret} in ${file}`, { hint: `Run: chmod 600 ${file}` });
}

/** An address with its key. */
interface Profile {
  readonly url: string;
  readonly key: string;
}

export interface Profiles {
  /** The profile used by default. */
  readonly current?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;
const NONE: Profiles = { profiles: {} };

/** The user's profiles, in one file that only the user may read, because it holds keys. */
export class ProfileStore {
  readonly file: string;

  constructor(env: Env) {
    this.file = join(configFolder(env), 'agentlens', 'profiles.json');
  }

  /** @throws CommandError if the file is invalid or readable by others */
  read(): Profiles {
    const stored = readJsonFile(this.file);
    if (stored === undefined) return NONE;
    refuseOpenFile(this.file, 'keys');
    if (!isProfiles(stored)) {
      throw new CommandError(`${this.file} is not a valid profile file`, {
        hint: `Remove it and sign in again: ${PROGRAM} login`,
      });
    }
    return stored;
  }

  /** Adds or replaces a profile and makes it current. */
  save(name: string, profile: Profile): void {
    if (!NAME.test(name)) {
      throw new CommandError(`"${name}" is not a valid profile name: use letters, digits, ".", "_" and "-"`, {
        exitCode: EXIT.usage,
      });
    }
    this.#write({ current: name, profiles: { ...this.read().profiles, [name]: profile } });
  }

  /** @throws CommandError if the profile does not exist */
  use(name: string): Profile {
    const { profiles } = this.read();
    const profile = profileNamed(profiles, name);
    this.#write({ current: name, profiles });
    return profile;
  }

  /** @throws CommandError if the profile does not exist */
  remove(name: string): Profile {
    const { current, profiles } = this.read();
    const removed = profileNamed(profiles, name);
    const others = Object.fromEntries(Object.entries(profiles).filter(([other]) => other !== name));
    this.#write({ current: current === name ? undefined : current, profiles: others });
    return removed;
  }

  #write(content: Profiles): void {
    mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
    replaceFile(this.file, `${JSON.stringify(content, null, 2)}\n`);
  }
}

/** @throws CommandError if the profile does not exist */
export function profileNamed(profiles: Profiles['profiles'], name: string): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined) return profile;
  const known = Object.keys(profiles).sort().join(', ');
  throw new CommandError(`Unknown profile "${name}"`, {
    exitCode: EXIT.usage,
    hint: known === '' ? `Create one with: ${PROGRAM} login` : `There are: ${known}`,
  });
}

function configFolder(env: Env): string {
  if (env.XDG_CONFIG_HOME) return env.XDG_CONFIG_HOME;
  if (process.platform === 'win32' && env.APPDATA) return env.APPDATA;
  return join(env.HOME ?? homedir(), '.config');
}

function isProfiles(value: unknown): value is Profiles {
  if (typeof value !== 'object' || value === null || !('profiles' in value)) return false;
  const { profiles } = value;
  if (typeof profiles !== 'object' || profiles === null) return false;
  return Object.values(profiles).every(
    (profile: Partial<Profile> | null) => typeof profile?.url === 'string' && typeof profile.key === 'string',
  );
}
