// Writes the results of the kit into the documentation: node table.ts [--write]. Without --write it fails if a table
// there is outdated.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { COLUMNS, type Column } from './driver.ts';
import type { DriverReport } from './report.ts';

const at = (path: string) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
const BEGIN = '<!-- Written by the conformance kit: npm run test:integrations -- --write -->';
const END = '<!-- end -->';

/** Text of a cell if its scenarios passed and the driver sets no other. */
const SHOWN: Readonly<Record<Column, string>> = {
  tools: 'enforced',
  'sub-agents': 'enforced, child run',
  'model call': 'enforced',
  kill: 'enforced',
  'changed arguments': 'yes',
  'withheld result': 'yes',
  'provider tools': 'observed',
};

/** Reports of one adapter, one per variant. */
type Reports = readonly DriverReport[];

function reportsByPackage(): Map<string, Reports> {
  const files = globSync('reports/integrations/*.json', { cwd: at('') });
  const reports = files.map((file) => JSON.parse(readFileSync(at(file), 'utf8')) as DriverReport);
  return Map.groupBy(
    reports.toSorted((one, other) => (one.package < other.package ? -1 : 1)),
    (report) => report.package,
  );
}

function cell(reports: Reports, column: Column): string {
  const proofs = reports.flatMap(({ scenarios }) => scenarios.filter(({ proves }) => proves.includes(column)));
  const failed = proofs.find(({ result }) => result === 'failed');
  if (failed !== undefined) throw new Error(`${reports[0]?.package}: "${failed.name}" failed; fix it first`);
  if (!proofs.some(({ result }) => result === 'passed')) return '–';
  return reports[0]?.badges?.[column] ?? SHOWN[column];
}

function table(all: Iterable<Reports>): string {
  const rows = [...all].map((reports) => [
    `${reports[0]?.name} \`${reports[0]?.package}\``,
    ...COLUMNS.map((column) => cell(reports, column)),
  ]);
  return [['', ...COLUMNS], ['', ...COLUMNS].map(() => '---'), ...rows]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');
}

function notes(all: Iterable<Reports>): string {
  const lines = [...all].flatMap(([report]) => {
    const cannot = (report?.scenarios ?? []).filter(({ result }) => result === 'cannot');
    return cannot.map(({ name, reason }) => `- ${report?.name}, "${name}": ${reason}.`);
  });
  return lines.length === 0 ? '' : `\n\nScenarios that a framework does not support, and why:\n\n${lines.join('\n')}`;
}

function put(file: string, text: string, write: boolean): boolean {
  const path = at(file);
  if (!existsSync(path)) throw new Error(`there is no ${file} to write the table to`);
  const whole = readFileSync(path, 'utf8');
  const [begin, end] = [whole.indexOf(BEGIN), whole.indexOf(END)];
  if (begin === -1 || end === -1) throw new Error(`${file} has no place for the table: ${BEGIN} … ${END}`);
  const wanted = `${whole.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${whole.slice(end)}`;
  if (wanted === whole) return true;
  if (write) writeFileSync(path, wanted);
  return write;
}

const write = process.argv.includes('--write');
const reports = reportsByPackage();
const folders = Map.groupBy(reports.values(), ([report]) => report?.package.split('/')[1] ?? '');
const targets = [
  ['docs/adapters/README.md', table(reports.values()) + notes(reports.values())] as const,
  ...[...folders].map(([folder, own]) => [`integrations/js/${folder}/README.md`, table(own) + notes(own)] as const),
];
const differing = targets.filter(([file, text]) => !put(file, text, write)).map(([file]) => file);
if (differing.length > 0) {
  console.error(`The results of the kit differ from the tables in ${differing.join(', ')}.`);
  console.error('If the results are right, run: npm run test:integrations -- --write');
  process.exit(1);
}
