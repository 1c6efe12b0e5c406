import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const here = join(import.meta.dirname, '..');
const docs = join(here, '../../docs/agent');
const FLAGS = ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning'];

const pages = [join(here, 'README.md'), ...readdirSync(docs).map((name) => join(docs, name))];
const programs = pages.flatMap((page) => {
  const blocks = [...readFileSync(page, 'utf8').matchAll(/^```js\n([\s\S]*?)^```$/gm)];
  return blocks.map(([, code = ''], index): [string, string] => [
    `${page.slice(page.lastIndexOf('/') + 1)} ${index + 1}`,
    code,
  ]);
});

/** Inside the package, so that its imports and those of its tests resolve. */
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(here, 'dist-docs-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('programs in the documentation', () => {
  it.each(programs)('run: %s', async (name, code) => {
    const path = join(folder, `${name.replace(/\W/g, '-')}.mjs`);
    await writeFile(path, code);
    const { stdout } = await run(process.execPath, [...FLAGS, path], { cwd: folder, timeout: 60_000 });
    // A comment after console.log states what the line prints.
    for (const [, printed = ''] of code.matchAll(/^console\.log\(.*\); \/\/ (?:… )?(.+)$/gm))
      expect(stdout).toContain(printed.trim());
  });
});
