import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { CONNECT_SNIPPETS, exporterVariables } from './connect-snippets.ts';

const page = readFileSync(new URL('../../../docs/otlp.md', import.meta.url), 'utf8');
const AGENTS = new URL('../../../interop/otel/agents/', import.meta.url);
const programs = readdirSync(AGENTS)
  .map((name) => readFileSync(new URL(name, AGENTS), 'utf8'))
  .join('\n');

describe('the connection snippets', () => {
  it.each(CONNECT_SNIPPETS)('for $framework matches docs/otlp.md', ({ framework, content }) => {
    const row = page.split('\n').find((line) => line.startsWith(`| ${framework} |`));
    expect(row).toContain(`| ${content} |`);
  });

  it.each(CONNECT_SNIPPETS)('for $framework imports what a recorded program imports', ({ code }) => {
    const imported = [...code.matchAll(/^(?:from|import) [\w.]+ import (\w+)$|^import \{ (\w+) \}/gm)];
    for (const [, python, javascript] of imported)
      expect(programs).toMatch(new RegExp(`\\b${python ?? javascript}\\b`));
  });

  it('quote names for the shell, regardless of their contents', () => {
    const script = `${exporterVariables('http://127.0.0.1:3400', 'agk_live_1', "ann's $(agent)")}\nprintenv`;
    expect(execFileSync('/bin/sh', ['-c', script]).toString().split('\n')).toEqual(
      expect.arrayContaining([
        'OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:3400',
        'OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20agk_live_1',
        "OTEL_SERVICE_NAME=ann's $(agent)",
      ]),
    );
  });
});
