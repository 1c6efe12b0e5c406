import { CommandError, usageError } from '../command-error.ts';
import { EXIT } from '../exit-codes.ts';
import type { Env } from './env.ts';
import type { LocalKey } from './local-keys.ts';
import { type Profiles, profileNamed } from './profiles.ts';

/** Where a setting came from, as people know it: `--url`, `AGENTLENS_URL`, `profile "staging"`. */
export interface KnownKey {
  readonly key: string;
  readonly source: string;
}

export interface Connection {
  readonly url: string;
  readonly urlSource: string;
  /** The first that the platform knows is used; more than one only where they are files of this machine. */
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
 * Which platform is meant, and with which key: flags, then the environment, then the profile, then a platform of this
 * machine. A stored key is sent only to the address that it was stored with.
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

/** @throws CommandError where no key is known for the address */
export function needKey({ url, keys }: Connection): readonly [KnownKey, ...KnownKey[]] {
  const [first, ...others] = keys;
  if (first !== undefined) return [first, ...others];
  throw new CommandError(`No API key for ${url}`, {
    exitCode: EXIT.notAllowed,
    hint: 'Sign in with "agentlens login", or set AGENTLENS_API_KEY.',
  });
}

/** The address without a trailing slash. @throws CommandError where it is no http address or carries a password */
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
