import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ProblemError } from '@agentlens/client';
import {
  type GuardConfig,
  type GuardPaths,
  GuardStateError,
  guardPaths,
  HOST_IDS,
  type HostId,
  type Installation,
  isHostId,
  readConfig,
  writeConfig,
} from '@agentlens/guard';
import type { CommandContext } from '../../context.ts';
import { CommandError, EXIT, usageError } from '../../errors.ts';
import { clientWith } from '../../platform-client.ts';
import { PROGRAM } from '../../program-name.ts';

export function pathsOf(context: CommandContext): GuardPaths {
  return guardPaths(context.host.env);
}

/** Where the guard's files are and how its hooks start. */
export function installationOf(context: CommandContext): Installation {
  const bundled = ['../agentlens-hook.cjs', './agentlens-hook.cjs']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(path));
  const entry = bundled ?? fileURLToPath(import.meta.resolve('@agentlens/guard/main'));
  // In a checkout the entry may be a source file, which needs the condition that finds other sources.
  const nodeArgs = entry.endsWith('.ts') ? ['--conditions=@agentlens/source'] : [];
  const runtime = { node: process.execPath, nodeArgs, entry, bundle: bundled !== undefined };
  return { env: context.host.env, paths: pathsOf(context), runtime };
}

export function hostNamed(name: string): HostId {
  if (isHostId(name)) return name;
  throw usageError(`Unknown coding agent "${name}".`, `There are: ${HOST_IDS.join(', ')}`);
}

/** Shows the message of a problem with the guard's files instead of a stack. */
export async function explained<T>(work: () => Promise<T> | T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GuardStateError) throw new CommandError(`${sentence(error.message)}`);
    throw error;
  }
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function configOf(context: CommandContext): GuardConfig | undefined {
  return readConfig(pathsOf(context).config);
}

export async function saveKey(context: CommandContext, url: string, key: string): Promise<void> {
  await explained(() => {
    const known = configOf(context);
    writeConfig(pathsOf(context), { hosts: {}, content: 'full', killHost: false, ...known, url, key });
  });
}

/** @returns the scopes of a key that may read, or undefined for one that may not @throws ProblemError if it is unknown */
async function scopesOf(context: CommandContext, url: string, key: string): Promise<readonly string[] | undefined> {
  const options = context.clientOptions({ ...context.connection(), url, keys: [] });
  try {
    return (await clientWith(key, options).getMe()).scopes;
  } catch (error) {
    if (error instanceof ProblemError && error.status === 403) return undefined;
    throw error;
  }
}

/** Any answer but 401 shows that the platform knows the key. */
export async function refuseUnknownKey(context: CommandContext, key: string): Promise<void> {
  await scopesOf(context, context.connection().url, key);
}

/** What a key needs to report and to ask. A coding agent can read the file of the guard, so no other key goes there. */
const GUARD_SCOPES: ReadonlySet<string> = new Set(['ingest', 'decide']);

/**
 * Takes AGENTLENS_URL and AGENTLENS_API_KEY over for the guard. A key with more rights than the guard needs is used to
 * sign in and never saved. @throws CommandError if the guard reports to another platform than the environment names
 */
export async function takeEnvironment(context: CommandContext): Promise<void> {
  const { AGENTLENS_URL: named, AGENTLENS_API_KEY: key } = context.host.env;
  if (!named) return;
  const known = await explained(() => configOf(context));
  const { url } = context.connection();
  if (known?.url === url && known.key !== undefined && (!key || key === known.key)) return;
  if (key) {
    const scopes = await scopesOf(context, url, key);
    if (scopes === undefined || scopes.every((scope) => GUARD_SCOPES.has(scope))) return saveKey(context, url, key);
  }
  if (known !== undefined && known.url !== url) throw otherPlatform(url, known.url);
}

function otherPlatform(url: string, known: string): CommandError {
  return new CommandError(`AGENTLENS_URL is ${url}, but the guard reports to ${known}.`, {
    exitCode: EXIT.notFoundOrConflict,
    hint: `To move it: ${PROGRAM} guard setup. To keep it: unset AGENTLENS_URL.`,
  });
}
