import { readdirSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { usageError } from '../command-error.ts';
import type { Host } from '../context.ts';
import { textOf } from '../parse/text-input.ts';

const YAML = /\.ya?ml$/;
const TESTS = /\.test\.ya?ml$/;

export interface NamedText {
  readonly file: string;
  readonly text: string;
}

/** The files of rules among paths; of a folder, those in it and below it. @throws CommandError where there is none */
export function findRuleFiles(paths: readonly string[], host: Host): Promise<NamedText[]> {
  return readAll(paths, host, (file) => YAML.test(file) && !TESTS.test(file), 'no file of rules (*.yaml)');
}

/** The same for files of tests, `*.test.yaml`. */
export function findTestFiles(paths: readonly string[], host: Host): Promise<NamedText[]> {
  return readAll(paths, host, (file) => TESTS.test(file), 'no file of tests (*.test.yaml)');
}

async function readAll(paths: readonly string[], host: Host, wanted: (file: string) => boolean, none: string) {
  const files = [...new Set(paths.flatMap((path) => (isFolder(path, host) ? filesIn(path, host, wanted) : [path])))];
  if (files.length === 0) throw usageError(`There is ${none} in ${paths.join(', ')}`);
  return Promise.all(files.map(async (file) => ({ file, text: await textOf(file, host) })));
}

function isFolder(path: string, { folder }: Host): boolean {
  return statSync(resolve(folder, path), { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function filesIn(path: string, { folder }: Host, wanted: (file: string) => boolean): string[] {
  const base = resolve(folder, path);
  return readdirSync(base, { recursive: true, encoding: 'utf8' })
    .filter(wanted)
    .map((file) => relative(folder, join(base, file)))
    .sort();
}
