import { resolve } from 'node:path';
import {
  DEFAULT_SETTINGS,
  HOST_IDS,
  HOSTS,
  type HostId,
  type HostSettings,
  type InstallReport,
  installHost,
  type OffReport,
  readInstalled,
  stopResident,
  uninstallHost,
  versionOf,
  writeManaged,
} from '@agentlens/guard';
import type { CommandContext, DefineCommand } from '../../context.ts';
import { CommandError, usageError } from '../../errors.ts';
import { oneOf } from '../../parse.ts';
import { PROGRAM } from '../../program-name.ts';
import { enforcementHint } from './enforce.ts';
import { explained, hostNamed, installationOf, pathsOf, takeEnvironment } from './place.ts';

interface InstallOptions {
  readonly enforce?: true;
  readonly wait: number;
  readonly fail: 'closed' | 'open';
  readonly agent?: string;
  readonly untested?: boolean;
}

interface ManyOptions {
  readonly all?: true;
  readonly managed?: string;
  readonly node: string;
}

/** `agentlens guard claude-code` is short for `agentlens guard install claude-code`. */
export function installOne(id: HostId): DefineCommand {
  return (command, context) => {
    withOptions(command).action((options) => installAll(context, [id], options as InstallOptions));
  };
}

export const install: DefineCommand = (command, context) => {
  withOptions(command)
    .argument('[hosts...]', HOST_IDS.join(', '))
    .option('--all', 'every coding agent that is installed here')
    .option('--managed <folder>', 'write the files that an administrator rolls out, and change nothing here')
    .option('--node <path>', 'with --managed: Node on the machines of the developers', '/usr/bin/node')
    .action((names: string[], options: InstallOptions & ManyOptions) => {
      const { managed, node, all } = options;
      if (managed !== undefined) return writeRollout(context, names.map(hostNamed), { ...options, managed, node });
      return installAll(context, chosen(context, names, all === true), options);
    });
};

function withOptions(command: Parameters<DefineCommand>[0]) {
  return command
    .option('--enforce', 'refuse calls; without it they are only observed')
    .option('--wait <seconds>', 'how long a call waits for an approval', waitSeconds, DEFAULT_SETTINGS.wait)
    .option(
      '--fail <mode>',
      'closed, open: what happens to a call that cannot be decided',
      oneOf(['closed', 'open'] as const),
      'closed' as const,
    )
    .option('--agent <slug>', 'id of the agent on the platform; default: the name of the host')
    .option('--untested', 'enforce although this version is not tested');
}

async function writeRollout(
  context: CommandContext,
  ids: readonly HostId[],
  { managed, node, enforce, wait, fail, agent }: InstallOptions & { readonly managed: string; readonly node: string },
): Promise<void> {
  if (ids.length === 0) throw usageError('Name the coding agents to roll out.');
  const { url } = context.connection();
  const settings: HostSettings = { mode: enforce === true ? 'enforce' : 'observe', fail, wait, agent };
  const { runtime } = installationOf(context);
  const files = await explained(() =>
    writeManaged(ids, { folder: resolve(context.host.folder, managed), url, node, runtime, settings }),
  );
  context.output.print(files, () => [...files, 'Roll them out as docs/guard/teams.md says.'].join('\n'));
}

const MAX_WAIT_SECONDS = 3_000;

function waitSeconds(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value <= MAX_WAIT_SECONDS) return value;
  throw usageError(`--wait must be a number of seconds from 0 to ${MAX_WAIT_SECONDS}.`);
}

function chosen(context: CommandContext, names: readonly string[], all: boolean): HostId[] {
  if (names.length > 0) return names.map(hostNamed);
  if (!all) throw usageError('Name a coding agent, or use --all.', `There are: ${HOST_IDS.join(', ')}`);
  const found = HOST_IDS.filter((id) => versionOf(HOSTS[id], context.host.env.PATH) !== undefined);
  if (found.length === 0) throw new CommandError('No coding agent was found on the PATH.');
  return found;
}

async function installAll(
  context: CommandContext,
  ids: readonly HostId[],
  { enforce, wait, fail, agent, untested = false }: InstallOptions,
): Promise<void> {
  if (process.platform === 'win32')
    throw usageError('The guard does not run on Windows.', 'Run the coding agent in WSL.');
  const { output } = context;
  const settings: HostSettings = { mode: enforce === true ? 'enforce' : 'observe', fail, wait, agent };
  if (ids.includes('codex'))
    await context.confirm('Codex skips hooks that it does not trust. Trust the hooks of the guard?');
  await takeEnvironment(context);
  const reports: InstallReport[] = [];
  for (const id of ids)
    reports.push(await explained(() => installHost(installationOf(context), id, settings, { untested })));
  output.print(reports, () => reports.map(reportText).join('\n'));
  if (enforce === true) output.note(await enforcementHint(context));
}

function reportText({ host, title, version, match, settings, files }: InstallReport): string {
  const contract = HOSTS[host];
  const lines = [
    `${title}${version === undefined ? ' (not found on the PATH)' : ` ${version}`}: ${settings.mode === 'enforce' ? 'enforced' : 'observed'}`,
  ];
  for (const file of files) lines.push(`  ${file}`);
  if (settings.mode === 'enforce') {
    lines.push(
      `  When the guard fails, calls are ${settings.fail === 'open' ? 'allowed (--fail open)' : `refused: ${contract.grade}`}.`,
    );
    for (const hole of contract.holes) lines.push(`  Not covered: ${hole}.`);
  }
  if (match === 'newer')
    lines.push(`  This version is newer than the tested ones. Prove that it obeys: ${PROGRAM} guard doctor ${host}`);
  if (version === undefined)
    lines.push(`  Tested from ${contract.tested.from}. Once it is there: ${PROGRAM} guard doctor ${host}`);
  else if (match === 'older' || match === 'unknown')
    lines.push(`  This version is not tested (tested from ${contract.tested.from}).`);
  lines.push(`  Restart running sessions of ${title}.`);
  return lines.join('\n');
}

export const off: DefineCommand = (command, context) => {
  command
    .argument('[hosts...]', HOST_IDS.join(', '))
    .option('--all', 'every coding agent under the guard')
    .action(async (names, { all }) => {
      const { output } = context;
      const installation = installationOf(context);
      const known = Object.keys(await explained(() => readInstalled(installation.paths))) as HostId[];
      const ids = names.length > 0 ? names.map(hostNamed) : known;
      if (names.length === 0 && all !== true) throw usageError('Name a coding agent, or use --all.');
      const done: OffReport[] = [];
      for (const id of ids)
        done.push((await explained(() => uninstallHost(installation, id))) ?? { host: id, files: [] });
      output.print(done, () =>
        done.length === 0
          ? 'No coding agent is under the guard.'
          : done
              .map(({ host, files }) =>
                files.length === 0
                  ? `${HOSTS[host].title} was not under the guard.`
                  : [
                      `${HOSTS[host].title} is not under the guard any more.`,
                      ...files.map((file) => `  ${file.path}: ${file.result}`),
                    ].join('\n'),
              )
              .join('\n'),
      );
    });
};

export const stop: DefineCommand = (command, context) => {
  command.action(async () => {
    const stopped = await explained(() => stopResident(pathsOf(context)));
    context.output.print({ stopped }, () =>
      stopped ? 'Stopped. The next hook starts it again.' : 'It was not running.',
    );
  });
};
