import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '../bench/machine.ts';
import type { Finding } from './finding.ts';

/** Writes `faults.json` and `faults.md`. */
export async function writeReports(folder: string, machine: Machine, findings: readonly Finding[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'faults.json'), `${JSON.stringify({ machine, findings }, null, 2)}\n`);
  await writeFile(join(folder, 'faults.md'), markdown(machine, findings));
}

function markdown(machine: Machine, findings: readonly Finding[]): string {
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
    ...findings.flatMap(section),
  ].join('\n');
}

function section(finding: Finding): string[] {
  const { id, title, outcome, reason, measures, checks, timeline, seed } = finding;
  return [
    `## ${id} ${title}: ${outcome}`,
    '',
    `Replay: \`npm run faults -- --only ${id} --seed ${seed}\``,
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
