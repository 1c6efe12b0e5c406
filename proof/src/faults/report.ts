import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '../bench/machine.ts';
import type { FaultFinding } from './fault.ts';

/** The findings and how they were obtained. */
export interface FaultReport {
  readonly machine: Machine;
  readonly smoke: boolean;
  readonly minutes: number;
  readonly findings: readonly FaultFinding[];
}

/** Writes `faults.json` and `faults.md`. */
export async function writeReports(folder: string, report: FaultReport): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'faults.json'), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(folder, 'faults.md'), markdown(report));
}

/** Writes the recent output of each service, one entry per line. Returns the folder. */
export async function writeOutput(
  reports: string,
  id: string,
  services: readonly { readonly name: string; readonly output: readonly string[] }[],
): Promise<string> {
  const folder = join(reports, 'output', id);
  await mkdir(folder, { recursive: true });
  for (const { name, output } of services) await writeFile(join(folder, `${name}.log`), `${output.join('\n')}\n`);
  return folder;
}

/** The report for people. */
export function markdown(report: FaultReport): string {
  const { machine, findings } = report;
  const rows = findings.map(
    ({ id, title, outcome, seconds, checks }) =>
      `| ${id} | ${title} | ${outcome} | ${checks.filter(({ ok }) => ok).length}/${checks.length} | ${seconds.toFixed(0)} s |`,
  );
  return [
    '# Fault report',
    '',
    `${machine.cores} x ${machine.cpu}, ${machine.memoryGb} GB, Node ${machine.node}, commit ${machine.commit}; seed ${findings[0]?.seed ?? '-'}`,
    '',
    '| # | Fault | Outcome | Checks | Took |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    ...findings
      .flatMap((finding) => [finding, ...(finding.earlier === undefined ? [] : [finding.earlier])])
      .flatMap((finding) => section(finding, report)),
  ].join('\n');
}

function section(finding: FaultFinding, { smoke, minutes }: FaultReport): string[] {
  const { id, title, outcome, reason, measures, checks, timeline, seed, earlier } = finding;
  return [
    `## ${id} ${title}: ${outcome}${earlier === undefined ? '' : ' on retry'}`,
    '',
    `Replay: \`npm run faults -- --only ${id} --seed ${seed} ${smoke ? '--smoke ' : ''}--minutes ${minutes}\``,
    '',
    ...(reason === undefined ? [] : ['```', reason, '```', '']),
    ...Object.entries(measures).map(([name, value]) => `- ${name}: ${value}`),
    ...(Object.keys(measures).length > 0 ? [''] : []),
    ...(checks.length > 0 ? ['| Check | Wanted | Found | |', '|---|---|---|---|'] : []),
    ...checks.map(
      ({ name, wanted, found, ok }) => `| ${name} | ${cell(wanted)} | ${cell(found)} | ${ok ? 'ok' : '**no**'} |`,
    ),
    '',
    ...timeline.map(({ at, text }) => `- ${at.toFixed(1)} s ${text}`),
    '',
  ];
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
