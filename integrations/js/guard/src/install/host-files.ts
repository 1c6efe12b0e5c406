import { join } from 'node:path';
import type { HostContract, HostId } from '../hosts/host.ts';
import type { Env, GuardPaths, HostSettings } from '../state.ts';
import { appendToArray, removeItems } from './json-text.ts';
import { hookCommand, hostTimeoutSeconds } from './launcher.ts';
import { pluginText } from './opencode-plugin.ts';
import { appendTables, removeTables } from './toml-text.ts';

/** A file of a host that the guard adds itself to. */
export interface HostFile {
  readonly path: string;
  /** @throws JsonTextError if the text is not what the host reads */
  readonly add: (text: string) => string;
  /** Removes what `add` added from a text that changed since. */
  readonly remove: (text: string) => string;
}

interface InstallContext {
  readonly env: Env;
  readonly home: string;
  readonly paths: GuardPaths;
  readonly settings: HostSettings;
  /** Starts the resident, for a plugin that runs inside the host. */
  readonly serve: readonly string[];
}

/** Files that an installation for this user changes. */
export function hostFiles(contract: HostContract, context: InstallContext): HostFile[] {
  const { env, home, paths, settings } = context;
  const folder = (variable: string, ...usual: string[]) => env[variable] || join(home, ...usual);
  const commands = (event: string) => hookCommand(paths.launcher, contract.id, event, settings);
  const seconds = hostTimeoutSeconds(settings);
  switch (contract.id) {
    case 'claude-code':
      return [
        hookFile(join(folder('CLAUDE_CONFIG_DIR', '.claude'), 'settings.json'), contract, paths, (event) => ({
          matcher: '*',
          hooks: [
            {
              ...{ type: 'command', command: commands(event), timeout: seconds },
              ...(settings.mode === 'enforce' ? { onFailure: 'block' } : {}),
            },
          ],
        })),
      ];
    case 'codex':
      return [
        hookFile(join(folder('CODEX_HOME', '.codex'), 'hooks.json'), contract, paths, (event) => ({
          hooks: [{ type: 'command', command: commands(event), timeout: codexTimeout(event, seconds) }],
        })),
      ];
    case 'gemini-cli':
      return [
        hookFile(join(home, '.gemini', 'settings.json'), contract, paths, (event) => ({
          matcher: '*',
          hooks: [{ name: 'agentlens', type: 'command', command: commands(event), timeout: seconds * 1_000 }],
        })),
      ];
    case 'qwen-code':
      return [
        hookFile(join(home, '.qwen', 'settings.json'), contract, paths, (event) => ({
          matcher: '*',
          hooks: [{ name: 'agentlens', type: 'command', command: commands(event), timeout: seconds * 1_000 }],
        })),
      ];
    case 'copilot-cli':
      return [
        copilotFile(join(folder('COPILOT_HOME', '.copilot'), 'hooks', 'agentlens.json'), contract, commands, seconds),
      ];
    case 'kimi-code':
      return [
        {
          path: join(folder('KIMI_CODE_HOME', '.kimi-code'), 'config.toml'),
          add: (text) =>
            appendTables(
              text,
              'hooks',
              Object.keys(contract.events).map((event) => ({ event, command: commands(event), timeout: seconds })),
            ),
          remove: (text) => removeTables(text, 'hooks', (table) => table.includes(escapedPath(paths.launcher))),
        },
      ];
    case 'opencode': {
      const config = env.XDG_CONFIG_HOME || join(home, '.config');
      return [ownFile(join(config, 'opencode', 'plugins', 'agentlens.js'), pluginText(paths, settings, context.serve))];
    }
  }
}

/** Codex ends a session only after this hook, so its limit is short. */
function codexTimeout(event: string, seconds: number): number {
  return event === 'SessionEnd' ? 3 : seconds;
}

function hookFile(path: string, contract: HostContract, paths: GuardPaths, entry: (event: string) => object): HostFile {
  return {
    path,
    add: (text) =>
      Object.keys(contract.events).reduce((all, event) => appendToArray(all, ['hooks', event], entry(event)), text),
    remove: (text) => removeItems(text, (item) => item.includes(escapedPath(paths.launcher))),
  };
}

/** The path as it stands inside a JSON text. */
function escapedPath(path: string): string {
  return JSON.stringify(path).slice(1, -1);
}

function copilotFile(
  path: string,
  { events }: HostContract,
  command: (event: string) => string,
  seconds: number,
): HostFile {
  const hooks = Object.fromEntries(
    Object.keys(events).map((event) => [event, [{ type: 'command', bash: command(event), timeoutSec: seconds }]]),
  );
  return ownFile(path, `${JSON.stringify({ version: 1, hooks }, null, 2)}\n`);
}

/** A file that belongs to the guard alone. */
function ownFile(path: string, content: string): HostFile {
  return { path, add: () => content, remove: () => '' };
}

/** Name of the option that turns hooks off in a project, for the hosts that have one. */
export const PROJECT_SWITCHES: Readonly<Partial<Record<HostId, readonly { file: string; pattern: RegExp }[]>>> = {
  'claude-code': [
    { file: '.claude/settings.json', pattern: /"disableAllHooks"\s*:\s*true/ },
    { file: '.claude/settings.local.json', pattern: /"disableAllHooks"\s*:\s*true/ },
  ],
  codex: [{ file: '.codex/config.toml', pattern: /^\s*hooks\s*=\s*false/m }],
  'gemini-cli': [{ file: '.gemini/settings.json', pattern: /"hooksConfig"\s*:\s*\{[^}]*"enabled"\s*:\s*false/ }],
  'qwen-code': [{ file: '.qwen/settings.json', pattern: /"disableAllHooks"\s*:\s*true/ }],
};
