import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { FileRuleset, SourceProblem } from '@agentlens/replay';
import type { CommandContext, Host } from '../context.ts';
import { CommandError, usageError } from '../errors.ts';
import { textOf } from '../parse.ts';

const GIT_MS = 10_000;
const MAX_GIT_BYTES = 16 * 1024 * 1024;
const YAML = /\.ya?ml$/;
const TESTS = /\.test\.ya?ml$/;

export interface NamedText {
  readonly file: string;
  readonly text: string;
}

/** Finds rule files among the paths; folders are searched recursively. @throws CommandError if there is none */
export function findRuleFiles(paths: readonly string[], host: Host): Promise<NamedText[]> {
  return readAll(paths, host, (file) => YAML.test(file) && !TESTS.test(file), 'no rule file (*.yaml)');
}

/** Finds test files, `*.test.yaml`, in the same way. */
export function findTestFiles(paths: readonly string[], host: Host): Promise<NamedText[]> {
  return readAll(paths, host, (file) => TESTS.test(file), 'no test file (*.test.yaml)');
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

/**
 * Reads the one ruleset of these files and resolves references to the environment. @throws CommandError with every
 * problem
 */
export async function readRuleset(paths: readonly string[], { host }: CommandContext): Promise<FileRuleset> {
  return rulesetOf(await findRuleFiles(paths, host), host);
}

/**
 * Reads the ruleset of these paths as of a commit. @returns undefined if the commit has no rule file there
 * @throws CommandError if git does not know the commit, or with every problem of the files
 */
export async function readRulesetAt(
  commit: string,
  paths: readonly string[],
  { host }: CommandContext,
): Promise<FileRuleset | undefined> {
  const listed = await git(['ls-tree', '-r', '-z', '--name-only', '--end-of-options', commit, '--', ...paths], host);
  const files = listed.split('\0').filter((file) => YAML.test(file) && !TESTS.test(file));
  if (files.length === 0) return undefined;
  const texts = files.map(async (file) => ({
    file: `${commit}:${file}`,
    text: await git(['show', '--end-of-options', `${commit}:./${file}`], host),
  }));
  return rulesetOf(await Promise.all(texts), host);
}

async function git(words: readonly string[], { folder, signal }: Host): Promise<string> {
  try {
    const options = { cwd: folder, signal, timeout: GIT_MS, maxBuffer: MAX_GIT_BYTES };
    return (await promisify(execFile)('git', [...words], options)).stdout;
  } catch (error) {
    const { stderr, message } = error as Error & { readonly stderr?: string };
    throw new CommandError(`git ${words[0]} failed: ${(stderr || message).trim()}`, {
      hint: 'Name a commit that is fetched, such as origin/main; CI checkouts are often shallow.',
    });
  }
}

async function rulesetOf(texts: readonly NamedText[], host: Host): Promise<FileRuleset> {
  const { readRuleFiles } = await import('@agentlens/replay');
  const { rulesets, problems } = readRuleFiles(texts, (name) => host.env[name]);
  await refuseProblems(problems);
  const [ruleset, other] = rulesets;
  if (ruleset === undefined) throw usageError('These files contain no ruleset.');
  if (other !== undefined) {
    throw usageError(
      `These files contain more than one ruleset: "${ruleset.name}" and "${other.name}".`,
      'Pass the files of one ruleset: each ruleset is planned and applied separately.',
    );
  }
  return ruleset;
}

/** @throws CommandError if there are problems */
export async function refuseProblems(problems: readonly SourceProblem[]): Promise<void> {
  if (problems.length === 0) return;
  const { problemText } = await import('@agentlens/replay');
  throw new CommandError('These files are invalid', { details: problems.map(problemText) });
}

/** Request body of a plan. */
export function bodyOf({ rules }: FileRuleset, prune: boolean) {
  return { rules: rules.map(({ key, adopt, body }) => ({ key, adopt, ...body })), prune };
}
