import { readdirSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { FileRuleset, SourceProblem } from '@agentlens/replay';
import type { CommandContext, Host } from '../context.ts';
import { CommandError, usageError } from '../errors.ts';
import { textOf } from '../parse.ts';

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

/** The one ruleset of these files, with references to the environment replaced. @throws CommandError naming every problem */
export async function readRuleset(paths: readonly string[], { host }: CommandContext): Promise<FileRuleset> {
  const { readRuleFiles } = await import('@agentlens/replay');
  const { rulesets, problems } = readRuleFiles(await findRuleFiles(paths, host), (name) => host.env[name]);
  await refuseProblems(problems);
  const [ruleset, other] = rulesets;
  if (ruleset === undefined) throw usageError('These files hold no ruleset.');
  if (other !== undefined) {
    throw usageError(
      `These files hold more than one ruleset: "${ruleset.name}" and "${other.name}".`,
      'Name the files of one ruleset: each is planned and applied by itself.',
    );
  }
  return ruleset;
}

/** @throws CommandError where there are any */
export async function refuseProblems(problems: readonly SourceProblem[]): Promise<void> {
  if (problems.length === 0) return;
  const { problemText } = await import('@agentlens/replay');
  throw new CommandError('These files cannot be used', { details: problems.map(problemText) });
}

/** Body of a plan. */
export function bodyOf({ rules }: FileRuleset, prune: boolean) {
  return { rules: rules.map(({ key, adopt, body }) => ({ key, adopt, ...body })), prune };
}
