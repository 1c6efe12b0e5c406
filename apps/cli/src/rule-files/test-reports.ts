import type { TestResult } from '@agentlens/replay';

export const REPORTS = ['text', 'tap', 'junit', 'github'] as const;
export type Report = (typeof REPORTS)[number];

/** Formats test results as text, TAP, JUnit or GitHub annotations. */
export function reportOf(results: readonly TestResult[], report: Report): string {
  return { text: asText, tap: asTap, junit: asJunit, github: asGithub }[report](results);
}

/** One rule and what exceeded its bounds. */
export interface RuleReport {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly summary: string;
  readonly failures: readonly string[];
}

/** Formats the backtests of rules as text, JUnit or GitHub annotations. */
export function findingsReport(reports: readonly RuleReport[], format: 'text' | 'junit' | 'github'): string {
  const results = reports.map(({ failures, summary, name, ...place }) => ({
    ...{ ...place, name: `${name}: ${summary}` },
    failures: failures.map((message) => ({ line: place.line, message })),
  }));
  return reportOf(results, format);
}

function asText(results: readonly TestResult[]): string {
  const lines = results.flatMap(({ name, file, failures }) => [
    `${failures.length === 0 ? 'ok' : 'FAILED'}  ${file}: ${name}`,
    ...failures.map(({ line, message }) => `    ${file}:${line}: ${message}`),
  ]);
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  return [...lines, `${results.length - failed} passed, ${failed} failed`].join('\n');
}

function asTap(results: readonly TestResult[]): string {
  const lines = results.flatMap(({ name, file, failures }, at) => [
    `${failures.length === 0 ? 'ok' : 'not ok'} ${at + 1} - ${name.replaceAll('#', '\\#')}`,
    ...failures.flatMap(({ line, message }) => [
      '  ---',
      `  message: ${JSON.stringify(message)}`,
      `  at: { file: ${JSON.stringify(file)}, line: ${line} }`,
      '  ...',
    ]),
  ]);
  return ['TAP version 14', `1..${results.length}`, ...lines].join('\n');
}

function asJunit(results: readonly TestResult[]): string {
  const suites = [...Map.groupBy(results, ({ file }) => file)].map(([file, own]) => {
    const failed = own.filter(({ failures }) => failures.length > 0).length;
    const cases = own.map(({ name, line, failures }) => {
      const opening = `    <testcase classname="${xml(file)}" name="${xml(name)}" file="${xml(file)}" line="${line}"`;
      if (failures.length === 0) return `${opening}/>`;
      const text = failures.map((failure) => `${file}:${failure.line}: ${failure.message}`).join('\n');
      return `${opening}>\n      <failure message="${xml(failures[0]?.message ?? '')}">${xml(text)}</failure>\n    </testcase>`;
    });
    return `  <testsuite name="${xml(file)}" tests="${own.length}" failures="${failed}">\n${cases.join('\n')}\n  </testsuite>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('\n')}\n</testsuites>`;
}

function asGithub(results: readonly TestResult[]): string {
  const annotations = results.flatMap(({ name, file, failures }) =>
    failures.map(
      ({ line, message }) =>
        `::error file=${property(file)},line=${line},title=${property(name)}::${message.replaceAll('%', '%25').replaceAll('\n', '%0A')}`,
    ),
  );
  return [...annotations, asText(results)].join('\n');
}

/** Escapes a property of a GitHub workflow command. */
function property(text: string): string {
  const escapes: Readonly<Record<string, string>> = { '%': '%25', '\r': '%0D', '\n': '%0A', ':': '%3A', ',': '%2C' };
  return text.replace(/[%\r\n:,]/g, (character) => escapes[character] ?? character);
}

function xml(text: string): string {
  const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (character) => escapes[character] ?? character).replace(/[\p{Cc}]/gu, ' ');
}
