import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Imports } from './read-imports.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)));

/** Sources by the measure of the targets: no tests, no generated files, no applied migrations. */
const NOT_A_SOURCE =
  /\.(spec|test)\.|\/tests?\/|testing\/|migrations\/|\/generated\/|\/built\/|\.d\.ts$|^(test|interop|scripts)\//;
const sources = tracked.filter((path) => /\.(ts|tsx|py|css|lua)$/.test(path) && !NOT_A_SOURCE.test(path));
const modules = tracked.filter((path) => /^(libs|services|apps|integrations\/js|proof)\/.*\.tsx?$/.test(path));
const lines = (path: string) => read(path).split('\n').length - 1;

/** Ratios, not totals: a new feature or an honest page must not push out another one. */
const SHORT_LINES = 50;
const MAX_SHORT_SHARE = 0.25;
/** Of all sources: short files that only one other file imports. */
const MAX_SHORT_WITH_ONE_IMPORTER_SHARE = 0.03;
const MAX_WORDS_OF_A_PAGE = 2_000;
/** Functions of the libraries named `xOf`, which hides the verb (find, build, parse); new names say it. */
const MAX_FUNCTIONS_NAMED_OF = 380;
/** Where a question about a call is answered: at the gateway, and at the evaluator that it asks. */
const DECISION = [
  'services/ingest/src/decisions/evaluate.route.ts',
  'services/guardrail-evaluator/src/decisions/decision-pipeline.ts',
];
/** Files that a reader of a decision can come to. */
const MAX_DECISION_REACH = 130;
const imports = new Imports(root);
const decisionReach = imports.reach(DECISION).size;

/** Files that run as a process or a thread of their own are named by address, which the compiler does not check. */
function addressedBy(path: string): string[] {
  return [...read(path).matchAll(/new URL\('(\.[^']+\.(?:ts|mjs|js|lua|sql|json))', import\.meta\.url\)/g)]
    .map(([, address = '']) => normalize(join(dirname(path), address)))
    .filter((address) => !/(^|\/)(dist|node_modules)\//.test(address));
}

/** Groups of modules that import each other. */
function circles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const reachable = new Map<string, Set<string>>();
  const reach = (from: string): Set<string> => {
    const known = reachable.get(from);
    if (known !== undefined) return known;
    const seen = new Set<string>();
    const open = [...(imports.get(from) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(...(imports.get(next) ?? []));
    }
    reachable.set(from, seen);
    return seen;
  };
  return [...imports.keys()].filter((path) => reach(path).has(path)).map((path) => [path]);
}

describe('the tree', () => {
  it('has no import circle between files', () => {
    const code = modules.filter((path) => !/\.(spec|contract|testing)\.tsx?$|\/test\/|\/generated\//.test(path));
    expect(circles(new Map(code.map((path) => [path, imports.targets(path)])))).toEqual([]);
  });

  it('keeps one idea in one file instead of in several short ones', () => {
    const short = sources.filter((path) => lines(path) < SHORT_LINES);
    expect(short.length / sources.length).toBeLessThanOrEqual(MAX_SHORT_SHARE);
    const importers = new Map<string, Set<string>>();
    for (const path of tracked.filter((file) => /\.(ts|tsx|mjs)$/.test(file) && !/\.spec\.|\/test\//.test(file))) {
      for (const [, from = ''] of read(path).matchAll(/['"](\.\.?\/[^'"\n]+)['"]/g)) {
        const target = normalize(join(dirname(path), from));
        importers.set(target, (importers.get(target) ?? new Set()).add(path));
      }
    }
    // A file that runs as a process of its own cannot belong to its neighbor.
    const started = new Set(modules.flatMap(addressedBy));
    const single = short.filter(
      (path) => /\.tsx?$/.test(path) && importers.get(path)?.size === 1 && !started.has(path),
    );
    expect(single.length / sources.length).toBeLessThanOrEqual(MAX_SHORT_WITH_ONE_IMPORTER_SHARE);
  });

  it('has pages of documentation that can be read in one sitting', () => {
    const pages = tracked.filter((path) => path === 'README.md' || /^docs\/.*\.md$/.test(path));
    expect(pages.length).toBeGreaterThan(50);
    const long = pages.filter((path) => read(path).split(/\s+/).filter(Boolean).length > MAX_WORDS_OF_A_PAGE);
    expect(long).toEqual([]);
  });

  it('names functions of the libraries by a verb', () => {
    const libraries = sources.filter((path) => /^libs\/.*\.ts$/.test(path));
    const names = libraries.flatMap((path) => [...read(path).matchAll(/^(?:export )?(?:async )?function \w+Of\b/gm)]);
    expect(names.length).toBeGreaterThan(0);
    expect(names.length).toBeLessThanOrEqual(MAX_FUNCTIONS_NAMED_OF);
  });

  it(`answers a question about a call with ${decisionReach} files`, () => {
    expect(decisionReach).toBeGreaterThan(50);
    expect(decisionReach).toBeLessThanOrEqual(MAX_DECISION_REACH);
  });

  it('has every file that another one starts by its address', () => {
    const missing = modules.flatMap((path) =>
      addressedBy(path)
        .filter((address) => !existsSync(join(root, address)))
        .map((address) => `${path} names ${address}`),
    );
    expect(missing).toEqual([]);
  });
});
