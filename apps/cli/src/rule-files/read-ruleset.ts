import type { FileRuleset, SourceProblem } from '@agentlens/replay';
import { CommandError, usageError } from '../command-error.ts';
import type { CommandContext } from '../context.ts';
import { findRuleFiles } from './find-files.ts';

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
