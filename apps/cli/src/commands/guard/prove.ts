import {
  type AuditReport,
  auditHost,
  type DoctorReport,
  HOSTS,
  Journal,
  proveHost,
  readInstalled,
} from '@agentlens/guard';
import type { DefineCommand } from '../../context.ts';
import { CommandError, EXIT } from '../../errors.ts';
import { withProgress } from '../../output/output.ts';
import { type Column, instant, plainText, table } from '../../output/table.ts';
import { instantBefore } from '../../parse.ts';
import { explained, hostNamed, installationOf, pathsOf } from './place.ts';

export const doctor: DefineCommand = (command, context) => {
  command
    .argument('<host>', 'the coding agent to test')
    .option('--show-output', 'print what the coding agent wrote')
    .action(async (name, { showOutput }) => {
      const { output } = context;
      const id = hostNamed(name);
      const proving = explained(() => proveHost(installationOf(context), id));
      const report = await withProgress(output, `Running ${HOSTS[id].title} with a scripted model`, proving);
      output.print(report, () => doctorText(report));
      if (showOutput === true) output.note(plainText(report.output));
      if (report.checks.some(({ ok }) => !ok))
        throw new CommandError(`${HOSTS[id].title} does not obey.`, {
          hint: showOutput === true ? undefined : 'To see what it wrote: --show-output',
        });
    });
};

function doctorText({ host, version, checks }: DoctorReport): string {
  const lines = checks.map(({ name, ok }) => `${ok ? 'ok    ' : 'FAILED'}  ${name}`);
  return [`${HOSTS[host].title} ${version ?? '(version unknown)'}`, ...lines].join('\n');
}

const COLUMNS: readonly Column<AuditReport['findings'][number]>[] = [
  { title: 'what', value: ({ kind }) => kind },
  { title: 'at', value: ({ at }) => (at === undefined ? undefined : instant(new Date(at).toISOString())) },
  { title: 'tool', value: ({ tool }) => tool },
  { title: 'call', value: ({ call }) => call },
  { title: 'session', value: ({ session }) => session },
];

export const audit: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .argument('<host>', 'the coding agent')
    .option('--since <time>', 'an instant, a date or an age; default 7d', when)
    .action(async (name, { since }) => {
      const { output, host } = context;
      const id = hostNamed(name);
      const paths = pathsOf(context);
      const installedAt = (await explained(() => readInstalled(paths)))[id]?.since ?? 0;
      const asked = Date.parse(since ?? when('7d'));
      const from = Math.max(asked, installedAt);
      const start = { at: String(instant(new Date(from).toISOString())), isInstall: installedAt > asked };
      const report = auditHost(id, host.env, new Journal(paths.journal), from);
      output.print({ ...report, from: new Date(from).toISOString() }, () =>
        auditText(report, start, table(report.findings, COLUMNS, output.layout)),
      );
      if (report.findings.length > 0)
        throw new CommandError(`${report.findings.length} calls passed the guard.`, { exitCode: EXIT.blocked });
    });
};

interface AuditStart {
  readonly at: string;
  /** The guard was installed later than the time that was asked for. */
  readonly isInstall: boolean;
}

function auditText(
  { host, files, calls, findings, note }: AuditReport,
  { at, isInstall }: AuditStart,
  rows: string,
): string {
  if (note !== undefined) return `${HOSTS[host].title}: ${note}. Alarms of the journal: ${findings.length}.`;
  const counted = [
    `${calls} calls in ${files} transcripts since ${at}${isInstall ? ', when the guard was installed' : ''}.`,
    'Calls that were refused, failed or have no result yet are not counted: they did not run, or the host does not say so.',
  ].join('\n');
  return findings.length === 0 ? `${counted}\nThe guard decided about each.` : `${counted}\n\n${rows}`;
}
