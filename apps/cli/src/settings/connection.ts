import { dirname, join, resolve } from 'node:path';
import { CommandError, EXIT, usageError } from '../errors.ts';
import { PROGRAM } from '../program-name.ts';
import { type Env, type Profiles, profileNamed, readJsonFile, readTextFile } from './profiles.ts';

const DATA_FOLDER = '.agentlens';

/** Data folders of platforms started in this folder or a parent, nearest first. */
function dataFolders(folder: string, env: Env): string[] {
  const configured = env.AGENTLENS_DATA_DIR;
  if (configured) return [resolve(folder, configured)];
  const above = dirname(folder);
  return [join(folder, DATA_FOLDER), ...(above === folder ? [] : dataFolders(above, env))];
}

/** `npm start` and `npm run start:distributed` each have their own key. */
const KEY_FILES = ['api-key', 'distributed/api-key'];

interface LocalKey {
  readonly file: string;
  readonly key: string;
}

/** Keys that a platform started in this folder or the nearest parent wrote to its data folder. */
export function localKeys(folder: string, env: Env): LocalKey[] {
  const found = dataFolders(folder, env).map(keysIn);
  return found.find((keys) => keys.length > 0) ?? [];
}

function keysIn(dataFolder: string): LocalKey[] {
  return KEY_FILES.map((name) => join(dataFolder, name)).flatMap((file) => {
    const key = readTextFile(file)?.trim();
    return key ? [{ file, key }] : [];
  });
}

/** Source of a setting, as shown to people: `--url`, `AGENTLENS_URL`, `profile "staging"`. */
interface KnownKey {
  readonly key: string;
  readonly source: string;
}

export interface Connection {
  readonly url: string;
  readonly urlSource: string;
  /** The first key that the platform accepts is used; there are several only for files of this machine. */
  readonly keys: readonly KnownKey[];
}

export interface ConnectionSources {
  readonly flags: { readonly url?: string; readonly profile?: string };
  readonly env: Env;
  readonly projectProfile: string | undefined;
  readonly profiles: Profiles;
  readonly localKeys: () => readonly LocalKey[];
}

const DEFAULT_PORT = '3400';

/**
 * Chooses address and key: flags, then the environment, then the profile, then a platform of this machine. A stored key
 * is sent only to the address it was stored with.
 */
export function findConnection(sources: ConnectionSources): Connection {
  const { flags, env } = sources;
  const profile = chosenProfile(sources);
  const environmentUrl = flags.profile === undefined ? env.AGENTLENS_URL : undefined;
  const [url, urlSource] = firstGiven(
    [flags.url, '--url'],
    [environmentUrl, 'AGENTLENS_URL'],
    [profile?.url, profile?.source ?? ''],
    [`http://127.0.0.1:${env.AGENTLENS_HTTP_PORT || DEFAULT_PORT}`, 'the default'],
  );
  const address = checkedUrl(url, urlSource);
  return { url: address, urlSource, keys: keysFor(address, profile, sources) };
}

/** @throws CommandError if no key is known for the address */
export function needKey({ url, keys }: Connection): readonly [KnownKey, ...KnownKey[]] {
  const [first, ...others] = keys;
  if (first !== undefined) return [first, ...others];
  throw new CommandError(`No API key for ${url}`, {
    exitCode: EXIT.notAllowed,
    hint: `Sign in with "${PROGRAM} login" or set AGENTLENS_API_KEY.`,
  });
}

/** Removes a trailing slash. @throws CommandError if it is not an http address or contains a password */
function checkedUrl(text: string, source: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw usageError(`${source}: "${text}" is not an address like https://agentlens.example.com`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '') {
    throw usageError(`${source}: the address must not carry a password or a query`);
  }
  return url.href.replace(/\/+$/, '');
}

interface ChosenProfile {
  readonly url: string;
  readonly key: string;
  readonly source: string;
}

function chosenProfile({ flags, env, projectProfile, profiles }: ConnectionSources): ChosenProfile | undefined {
  const name = flags.profile ?? (env.AGENTLENS_PROFILE || undefined) ?? projectProfile ?? profiles.current;
  if (name === undefined) return undefined;
  return { ...profileNamed(profiles.profiles, name), source: `profile "${name}"` };
}

function keysFor(url: string, profile: ChosenProfile | undefined, sources: ConnectionSources): readonly KnownKey[] {
  const { flags, env, localKeys } = sources;
  if (env.AGENTLENS_API_KEY && flags.profile === undefined)
    return [{ key: env.AGENTLENS_API_KEY, source: 'AGENTLENS_API_KEY' }];
  if (profile !== undefined && profile.url === url) return [{ key: profile.key, source: profile.source }];
  if (!isThisMachine(url)) return [];
  return localKeys().map(({ file, key }) => ({ key, source: file }));
}

function isThisMachine(url: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
}

function firstGiven(...values: readonly (readonly [string | undefined, string])[]): readonly [string, string] {
  const found = values.find(([value]) => value !== undefined && value !== '');
  return [found?.[0] ?? '', found?.[1] ?? ''];
}

/** Project file, which may be under version control. */
const PROJECT_FILE = '.agentlens.json';

/**
 * Reads the nearest project file, here or in a parent. It may only name a profile: a file from a cloned repository must
 * not choose the address that receives the user's key.
 */
export function readProjectFile(folder: string): { readonly profile?: string } {
  for (let at = folder; ; at = dirname(at)) {
    const file = join(at, PROJECT_FILE);
    const content = readJsonFile(file);
    if (content !== undefined) return checked(file, content);
    if (dirname(at) === at) return {};
  }
}

function checked(file: string, content: unknown): { readonly profile?: string } {
  const fields = typeof content === 'object' && content !== null ? Object.entries(content) : [];
  for (const [name, value] of fields) {
    if (name === 'profile' && typeof value === 'string') continue;
    throw new CommandError(
      `${file}: "${name}" is not allowed. The file may only name a profile: {"profile": "staging"}`,
      {
        hint: `Store addresses and keys in a profile: ${PROGRAM} login`,
      },
    );
  }
  return Object.fromEntries(fields);
}

/**
 * `NATS_URL`, with `NATS_PASSWORD` or the content of `NATS_PASSWORD_FILE` if it has only a user, as in the containers of
 * the services. Else the server of a platform started here, else the default port of this machine.
 */
export function natsAddress(folder: string, env: Env): string {
  if (env.NATS_URL) return withNatsPassword(env.NATS_URL, env);
  const noted = dataFolders(folder, env).map((data) => readTextFile(join(data, 'distributed/nats-url'))?.trim());
  return noted.find((address) => address !== undefined && address !== '') ?? 'nats://127.0.0.1:4222';
}

function withNatsPassword(address: string, env: Env): string {
  const password = env.NATS_PASSWORD || (env.NATS_PASSWORD_FILE && readTextFile(env.NATS_PASSWORD_FILE)?.trim());
  if (!password) return address;
  const encoded = encodeURIComponent(password);
  return address.replaceAll(/(\w+:\/\/[^:@/,\s]+)@/g, (_, start: string) => `${start}:${encoded}@`);
}

/** Error for a NATS server at `address` that does not answer. */
export function natsUnreachable(address: string, error: unknown): CommandError {
  const shown = address.replace(/:[^:@/]+@/g, ':***@');
  return new CommandError(`No NATS server answers at ${shown}: ${error instanceof Error ? error.message : ''}`, {
    exitCode: EXIT.unreachable,
    hint: 'Only the distributed platform has one: "npm run start:distributed". To use another server, set NATS_URL.',
  });
}
