import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildNpx } from '@agentlens/contracts/packages';
import type { HostId } from '../hosts/host.ts';
import { HOSTS } from '../hosts/index.ts';
import { GuardStateError, type HostSettings, writeWhole } from '../state.ts';
import { hookCommand, type HookRuntime, hostTimeoutSeconds, MANAGED_FOLDER, managedLauncherText } from './launcher.ts';

/** Hosts whose managed settings hold against the settings of a project. */
export const MANAGED_HOSTS = ['claude-code', 'codex', 'gemini-cli'] as const satisfies readonly HostId[];

export interface ManagedInstallation {
  /** Folder that receives the files. */
  readonly folder: string;
  readonly url: string;
  /** Path of Node on the developers' machines. */
  readonly node: string;
  readonly runtime: HookRuntime & { readonly bundle: boolean };
  readonly settings: HostSettings;
}

/** Writes the files that an administrator rolls out. @returns their paths */
export function writeManaged(hosts: readonly HostId[], installation: ManagedInstallation): string[] {
  const { folder, url, node, runtime, settings } = installation;
  const unsupported = hosts.filter((id) => !MANAGED_HOSTS.some((one) => one === id));
  if (unsupported.length > 0)
    throw new GuardStateError(
      `${unsupported.join(', ')} has no managed settings; there are: ${MANAGED_HOSTS.join(', ')}`,
    );
  if (!runtime.bundle)
    throw new GuardStateError(`managed files need the packaged command: ${buildNpx('cli', url)} guard managed`);
  const written: string[] = [];
  const write = (name: string, content: string, mode = 0o644) => {
    const path = join(folder, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeWhole(path, content, mode);
    written.push(path);
  };
  const own = (name: string) => join('agentlens-guard', name);
  const config = {
    url,
    hosts: Object.fromEntries(hosts.map((id) => [id, settings])),
    content: 'full',
    killHost: false,
  };
  write(own('guard.json'), `${JSON.stringify(config, null, 2)}\n`);
  write(own('hook'), managedLauncherText(node, `${MANAGED_FOLDER}/agentlens-hook.cjs`), 0o755);
  const program = join(folder, own('agentlens-hook.cjs'));
  copyFileSync(runtime.entry, program);
  written.push(program);
  for (const id of hosts) write(...managedFile(id, settings));
  return written;
}

function managedFile(id: HostId, settings: HostSettings): [string, string] {
  const launcher = `${MANAGED_FOLDER}/hook`;
  const seconds = hostTimeoutSeconds(settings);
  const events = Object.keys(HOSTS[id].events);
  const command = (event: string) => hookCommand(launcher, id, event, settings);
  if (id === 'codex') return ['codex/requirements.toml', codexRequirements(events, command, seconds)];
  const unit = id === 'gemini-cli' ? 1_000 : 1;
  const hooks = Object.fromEntries(
    events.map((event) => {
      const hook = { type: 'command', command: command(event), timeout: seconds * unit };
      const closed = id === 'claude-code' && settings.mode === 'enforce' ? { onFailure: 'block' } : {};
      return [event, [{ matcher: '*', hooks: [{ ...hook, ...closed }] }]];
    }),
  );
  const content =
    id === 'claude-code'
      ? { disableAllHooks: false, allowManagedHooksOnly: true, hooks }
      : { hooksConfig: { enabled: true }, hooks };
  const name = id === 'claude-code' ? 'claude-code/managed-settings.json' : 'gemini-cli/settings.json';
  return [name, `${JSON.stringify(content, null, 2)}\n`];
}

function codexRequirements(events: readonly string[], command: (event: string) => string, seconds: number): string {
  const text = (value: string) => JSON.stringify(value);
  const hooks = events.map(
    (event) =>
      `\n[[hooks.${event}]]\n[[hooks.${event}.hooks]]\ntype = "command"\ncommand = ${text(command(event))}\ntimeout = ${event === 'SessionEnd' ? 3 : seconds}\n`,
  );
  return `allow_managed_hooks_only = true\n\n[features]\nhooks = true\n\n[hooks]\nmanaged_dir = ${text(MANAGED_FOLDER)}\n${hooks.join('')}`;
}
