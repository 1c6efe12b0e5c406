import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
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
} from '@agentlens/guard';
import type { CommandContext } from '../../context.ts';
import { CommandError, usageError } from '../../errors.ts';

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
