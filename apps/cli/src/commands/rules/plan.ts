import { CommandError } from '../../command-error.ts';
import type { CommandFile } from '../../command-file.ts';
import { EXIT } from '../../exit-codes.ts';
import { plainText } from '../../output/plain-text.ts';
import { hasChanges, type PlanAnswer, planText, withoutEnvironment } from '../../rule-files/plan-text.ts';
import { bodyOf, readRuleset } from '../../rule-files/read-ruleset.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<paths...>', 'files of one ruleset, or folders that hold them')
    .option('--prune', 'delete rules of the ruleset that the files do not hold')
    .option('--detailed-exitcode', `exit with ${EXIT.changes} where there are changes`)
    .action(async (paths, { prune = false, detailedExitcode }) => {
      const ruleset = await readRuleset(paths, context);
      const client = await context.connect();
      const answer = await client.planRuleset({ params: { name: ruleset.name }, body: bodyOf(ruleset, prune) });
      const plan = withoutEnvironment(answer, ruleset);
      refusePlan(plan);
      context.output.print(plan, () => planText(plan, context.output.paint));
      if (detailedExitcode === true && hasChanges(plan))
        throw new CommandError('There are changes.', { exitCode: EXIT.changes });
    });
};

/** @throws CommandError where the plan cannot be applied */
export function refusePlan({ problems }: PlanAnswer): void {
  if (problems.length === 0) return;
  const lines = problems.map(({ path, message }) => plainText(`${path}: ${message}`));
  throw new CommandError('This cannot be applied', { details: lines });
}
