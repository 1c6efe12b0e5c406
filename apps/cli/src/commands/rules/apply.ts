import { CommandError } from '../../command-error.ts';
import type { CommandFile } from '../../command-file.ts';
import { EXIT } from '../../exit-codes.ts';
import { withProgress } from '../../output/progress.ts';
import { driftText, hasChanges, type PlanAnswer, planText, withoutEnvironment } from '../../rule-files/plan-text.ts';
import { bodyOf, readRuleset } from '../../rule-files/read-ruleset.ts';
import { refusePlan } from './plan.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<paths...>', 'files of one ruleset, or folders that hold them')
    .option('--prune', 'delete rules of the ruleset that the files do not hold')
    .option('--overwrite', 'apply although others changed rules since the last apply')
    .option('--reason <text>', 'why, for the history of the rules')
    .action(async (paths, { prune = false, overwrite = false, reason }) => {
      const { output } = context;
      const ruleset = await readRuleset(paths, context);
      const client = await context.connect();
      const params = { name: ruleset.name };
      const body = bodyOf(ruleset, prune);
      const plan = await client.planRuleset({ params, body });
      const shown = withoutEnvironment(plan, ruleset);
      refusePlan(shown);
      if (!overwrite) refuseDrift(shown);
      const drifted = plan.changes.some(({ drift }) => drift.length > 0);
      if (!hasChanges(plan) && !drifted) {
        output.print(shown, () => planText(shown, output.paint));
        return;
      }
      output.note(planText(shown, output.paint));
      if (hasChanges(plan)) await context.confirm(`Apply this to the ruleset ${ruleset.name}?`);
      const { basis } = plan;
      const applying = client.applyRuleset({ params, body: { ...body, basis, reason }, timeoutMs: 30_000 });
      const answer = await withProgress(output, 'Applying', applying);
      const done = answer.changes.filter(({ action }) => action !== 'none').length;
      output.print(withoutEnvironment(answer, ruleset), () => `Applied: ${done} rules of ${ruleset.name} changed.`);
    });
};

/** @throws CommandError where what others changed would be lost */
function refuseDrift({ changes }: PlanAnswer): void {
  const lost = changes.filter(({ action, drift }) => action !== 'none' && drift.length > 0);
  if (lost.length === 0) return;
  const lines = lost.flatMap(({ key, drift }) => drift.map((one) => `${key}: ${driftText(one)}`));
  throw new CommandError('Others changed rules that these files would overwrite', {
    details: lines,
    exitCode: EXIT.notFoundOrConflict,
    hint: 'Take the change over into the file ("agentlens rules pull" writes it), or add --overwrite. Nothing was applied.',
  });
}
