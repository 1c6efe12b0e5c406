import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HostId } from '../../guard/src/hosts/host.ts';
import { type MANAGED_HOSTS, writeManaged } from '../../guard/src/install/managed.ts';
import type { HostSettings } from '../../guard/src/state.ts';

type ManagedHost = (typeof MANAGED_HOSTS)[number];

/** Settings of a project and a user that turn the user's own hooks off. */
const HOOKS_OFF: Readonly<Record<ManagedHost, readonly (readonly [string, string])[]>> = {
  'claude-code': [['project/.claude/settings.json', '{"disableAllHooks": true}\n']],
  codex: [
    ['project/.codex/config.toml', '[features]\nhooks = false\n'],
    ['.codex/config.toml', '[features]\nhooks = false\n'],
  ],
  'gemini-cli': [['project/.gemini/settings.json', '{"hooksConfig": {"enabled": false}}\n']],
};

export interface ManagedMachine {
  /** Home of the user; the project is the folder "project" in it. */
  readonly home: string;
  readonly url: string;
  readonly bundle: string;
  readonly settings: HostSettings;
  /** The host, which sees this machine instead of the real one. */
  readonly binary: string;
}

/**
 * Makes a machine on which an administrator rolled the guard out and a project turned hooks off: a copy of /etc that only
 * the host sees, in a mount namespace of its own. @returns the program that starts the host on it
 */
export function managedMachine(id: ManagedHost & HostId, machine: ManagedMachine): string {
  const { home, url, bundle, settings, binary } = machine;
  const rollout = join(home, 'rollout');
  const runtime = { node: process.execPath, nodeArgs: [], entry: bundle, bundle: true };
  writeManaged([id], { folder: rollout, url, node: process.execPath, runtime, settings });
  const etc = join(home, 'etc');
  // Files that only root may read are not needed.
  execFileSync('sh', ['-c', 'cp -rp /etc/. "$0" 2>/dev/null || [ -f "$0/passwd" ]', made(etc)]);
  cpSync(rollout, etc, { recursive: true });
  const users = readFileSync(join(etc, 'passwd'), 'utf8');
  writeFileSync(join(etc, 'passwd'), users.replace(/^(root:[^:]*:0:0:[^:]*):[^:]*/m, `$1:${home}`));
  for (const [name, content] of HOOKS_OFF[id]) {
    made(join(home, name, '..'));
    writeFileSync(join(home, name), content);
  }
  const program = join(home, 'managed-host');
  const inside = `mount --bind '${etc}' /etc && exec ${binary} "$@"`;
  writeFileSync(
    program,
    `#!/bin/sh\nexec unshare --map-root-user --mount sh -c '${inside.replaceAll("'", "'\\''")}' sh "$@"\n`,
    {
      mode: 0o755,
    },
  );
  return program;
}

function made(folder: string): string {
  mkdirSync(folder, { recursive: true });
  return folder;
}
