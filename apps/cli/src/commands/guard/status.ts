import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  askResident,
  type GuardPaths,
  HOST_IDS,
  HOSTS,
  type HostId,
  isUnchanged,
  Journal,
  matchVersion,
  PROJECT_SWITCHES,
  readConfig,
  readInstalled,
  versionOf,
} from '@agentlens/guard';
import type { CommandContext, DefineCommand } from '../../context.ts';
import { type Column, instant, table } from '../../output/table.ts';
import { PROGRAM } from '../../program-name.ts';
import { explained, pathsOf } from './place.ts';

interface HostRow {
  readonly host: HostId;
  readonly version: string | undefined;
  readonly contract: string;
  readonly mode: string;
  readonly files: string;
  readonly closed: string;
  readonly lastAsked: string | undefined;
}

const COLUMNS: readonly Column<HostRow>[] = [
  { title: 'host', value: ({ host }) => host },
  { title: 'version', value: ({ version }) => version ?? 'not found' },
  { title: 'contract', value: ({ contract }) => contract },
  { title: 'mode', value: ({ mode }) => mode },
  { title: 'files', value: ({ files }) => files },
  { title: 'on failure', value: ({ closed }) => closed },
  { title: 'last call', value: ({ lastAsked }) => instant(lastAsked) ?? 'none yet' },
];

const DAYS_MS = 7 * 24 * 3_600_000;
const ASK_MS = 2_000;

export const status: DefineCommand = (command, context) => {
  command.action(async () => {
    const { output, host } = context;
    const paths = pathsOf(context);
    const config = await explained(() => readConfig(paths.config));
    const installed = await explained(() => readInstalled(paths));
    const last = lastAsked(paths, host.nowMs() - DAYS_MS);
    const rows = HOST_IDS.filter((id) => installed[id] !== undefined).map((id): HostRow => {
      const settings = config?.hosts[id];
      const version = versionOf(HOSTS[id], host.env.PATH);
      const changed = installed[id]?.files.filter((file) => !isUnchanged(file)) ?? [];
      return {
        ...{ host: id, version, contract: matchVersion(HOSTS[id], version) },
        mode: settings?.mode ?? 'unknown',
        files: changed.length === 0 ? 'unchanged' : `changed: ${changed.map(({ path }) => path).join(', ')}`,
        closed: settings?.mode !== 'enforce' || settings.fail === 'open' ? 'open' : HOSTS[id].grade,
        lastAsked: last.get(id),
      };
    });
    const resident = await residentStatus(paths);
    const warnings = [...switchedOff(context, rows), ...platformProblems(resident, config?.key)];
    const spooledBytes = existsSync(paths.spool) ? statSync(paths.spool).size : 0;
    const answer = {
      url: config?.url,
      hasKey: config?.key !== undefined,
      hosts: rows,
      resident,
      spooledBytes,
      warnings,
    };
    output.print(answer, () =>
      [
        rows.length === 0
          ? `No coding agent is under the guard. Begin with: ${PROGRAM} guard setup`
          : table(rows, COLUMNS, output.layout),
        '',
        `Platform: ${config?.url ?? `none; run: ${PROGRAM} guard setup`}`,
        resident === undefined
          ? 'Local process: not running; the next hook starts it'
          : `Local process: running, process ${String(resident.pid)}`,
        ...(spooledBytes === 0 ? [] : [`Events that wait for the platform: ${spooledBytes} bytes`]),
        ...warnings.map((warning) => `Warning: ${warning}`),
      ].join('\n'),
    );
  });
};

function lastAsked(paths: GuardPaths, since: number): Map<HostId, string> {
  const last = new Map<HostId, string>();
  for (const line of new Journal(paths.journal).read(since))
    if (line.k === 'ask') last.set(line.host, new Date(line.t).toISOString());
  return last;
}

async function residentStatus(paths: GuardPaths): Promise<Record<string, unknown> | undefined> {
  try {
    const { text } = await askResident(paths, { path: '/status', timeoutMs: ASK_MS });
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    // It starts with the next hook.
    return undefined;
  }
}

function platformProblems(resident: Record<string, unknown> | undefined, key: string | undefined): string[] {
  if (key === undefined) return [`there is no key; run: ${PROGRAM} guard login`];
  const problem = resident?.problem;
  return typeof problem === 'string' ? [problem] : [];
}

/** Settings of this project or user that turn hooks off. */
function switchedOff({ host: { folder, env } }: CommandContext, rows: readonly HostRow[]): string[] {
  return rows.flatMap(({ host }) =>
    (PROJECT_SWITCHES[host] ?? [])
      .flatMap(({ file, pattern }) =>
        [folder, env.HOME ?? homedir()].map((base) => ({ path: join(base, file), pattern })),
      )
      .filter(({ path, pattern }) => existsSync(path) && pattern.test(readFileSync(path, 'utf8')))
      .map(({ path }) => `${path} turns the hooks of ${HOSTS[host].title} off`),
  );
}
