import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { runCli } from '../run-cli.testing.ts';
import { COMMANDS } from './index.ts';

const root = join(import.meta.dirname, '../../../..');
const PAGES = ['README.md', 'apps/cli/README.md', ...globSync('docs/**/*.md', { cwd: root })];

/** The CLI commands that a page shows, without comments and shell syntax. */
function shown(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const lines = [...text.matchAll(/^(?:npx \S+\/packages\/cli-\S+\.tgz|agentlens) (.+)$/gm)].map(
    ([, line = '']) => line,
  );
  return lines.map((line) => line.split(/ +[#|<>&]/)[0]?.trim() ?? '');
}

const LINES = PAGES.flatMap((file) => shown(file).map((line): [string, string] => [file, line]));

describe('every CLI command in the documentation', () => {
  it('is found', () => {
    expect(LINES.length).toBeGreaterThan(50);
  });

  it.each(LINES)('%s: agentlens %s', async (_file, line) => {
    const words = line.split(' ');
    const path = commandOf(words);
    expect(path.length).toBeGreaterThan(0);
    const flags = words.flatMap((word) => /^--[\w-]+/.exec(word) ?? []);
    const { stdout } = await runCli(['complete', '--', ...path, '--']);
    expect([...stdout.split('\n'), '--version']).toEqual(expect.arrayContaining(flags));
  });
});

/** The words that name the command: `rules list`. */
function commandOf(words: readonly string[]): string[] {
  const [first = '', second = ''] = words;
  const entry = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
  if (entry === undefined) return [];
  if ('load' in entry) return [first];
  if (Object.hasOwn(entry.commands, second)) return [first, second];
  return entry.usual === undefined ? [] : [first, entry.usual];
}
