import { dirname, join } from 'node:path';
import { pages } from '@agentlens/client';
import type { SourceProblem, TestResult } from '@agentlens/replay';
import { Option } from '@commander-js/extra-typings';
import type { CommandContext, DefineCommand, RuleAnswer } from '../context.ts';
import { CommandError, EXIT, usageError } from '../errors.ts';
import { withProgress } from '../output/output.ts';
import { plainText } from '../output/table.ts';
import { documentOf } from '../parse.ts';
import { PROGRAM } from '../program-name.ts';
import { driftText, hasChanges, type PlanAnswer, planText, withoutEnvironment } from '../rule-files/plan-text.ts';
import { fileOf, yamlOf } from '../rule-files/pulled-rules.ts';
import {
  bodyOf,
  findRuleFiles,
  findTestFiles,
  type NamedText,
  readRuleset,
  refuseProblems,
} from '../rule-files/read-ruleset.ts';
import { REPORTS, reportOf } from '../rule-files/test-reports.ts';
import { PAGE } from './print-list.ts';

export const validateRules: DefineCommand = (command, context) => {
  command
    .argument('<files...>', 'rule files or folders, validated locally; or one rule as JSON or YAML ("-" reads stdin)')
    .action(async (files) => {
      const [file = '-'] = files;
      if (files.length === 1 && (file === '-' || file.endsWith('.json'))) return validateDraft(file, context);
      const sources = await findRuleFiles(files, context.host);
      const isRuleset = sources.some(({ text }) => /^["']?(apiVersion|ruleset)["']?\s*:/m.test(text));
      await (isRuleset ? validateFiles(sources, context) : validateDraft(file, context));
    });
};

/** Validates rule files locally, with the same code as the platform. */
async function validateFiles(sources: readonly NamedText[], { output }: CommandContext): Promise<void> {
  const { readRuleFiles } = await import('@agentlens/replay');
  const { rulesets, problems } = readRuleFiles(sources);
  await refuseProblems(problems);
  const counted = rulesets.map(({ name, rules }) => ({ ruleset: name, rules: rules.length }));
  output.print(counted, () => counted.map(({ ruleset, rules }) => `${ruleset}: ${rules} valid rules.`).join('\n'));
}

async function validateDraft(file: string, context: CommandContext): Promise<void> {
  const body = await documentOf(file, context.host);
  const client = await context.connect();
  const result = await client.validateRule({ body });
  context.output.print(result, () =>
    result.valid
      ? 'The rule is valid. Nothing was stored.'
      : result.details.map(({ path, message }) => plainText(`${file}: ${path}: ${message}`)).join('\n'),
  );
  if (!result.valid) throw new CommandError('The platform would reject this rule.', { hint: result.hint });
}

export const testRules: DefineCommand = (command, context) => {
  command
    .argument('<paths...>', 'test files (*.test.yaml) or folders that contain them')
    .addOption(new Option('--format <format>', 'output format').choices(REPORTS).default('text' as const))
    .action(async (paths, { format }) => {
      const { readRuleFiles, readTestFile, runTest } = await import('@agentlens/replay');
      const problems: SourceProblem[] = [];
      const runs: (() => Promise<TestResult>)[] = [];
      for (const source of await findTestFiles(paths, context.host)) {
        const tests = readTestFile(source);
        problems.push(...tests.problems);
        if (tests.problems.length > 0) continue;
        const files = tests.rules.map((file) => join(dirname(source.file), file));
        const read = readRuleFiles(await findRuleFiles(files, context.host));
        problems.push(...read.problems);
        const rules = read.rulesets.flatMap((ruleset) => ruleset.rules);
        runs.push(...tests.tests.map((test) => () => runTest(rules, test)));
      }
      await refuseProblems(problems);
      const results: TestResult[] = [];
      for (const run of runs) results.push(await run());
      context.output.print(results, () => reportOf(results, format));
      const failed = results.filter(({ failures }) => failures.length > 0).length;
      if (failed > 0) throw new CommandError(`${failed} of ${results.length} tests failed.`);
    });
};

export const planRules: DefineCommand = (command, context) => {
  command
    .argument('<paths...>', 'files of one ruleset, or folders that contain them')
    .option('--prune', 'delete rules of the ruleset that are not in the files')
    .option('--detailed-exitcode', `exit with ${EXIT.changes} if there are changes`)
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

/** @throws CommandError if the plan cannot be applied */
function refusePlan({ problems }: PlanAnswer): void {
  if (problems.length === 0) return;
  const lines = problems.map(({ path, message }) => plainText(`${path}: ${message}`));
  throw new CommandError('The plan cannot be applied', { details: lines });
}

export const applyRules: DefineCommand = (command, context) => {
  command
    .argument('<paths...>', 'files of one ruleset, or folders that contain them')
    .option('--prune', 'delete rules of the ruleset that are not in the files')
    .option('--overwrite', 'overwrite changes made by others since the last apply')
    .option('--reason <text>', 'reason, recorded in the rule history')
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
      if (hasChanges(plan)) await context.confirm(`Apply these changes to the ruleset ${ruleset.name}?`);
      const { basis } = plan;
      const applying = client.applyRuleset({ params, body: { ...body, basis, reason }, timeoutMs: 30_000 });
      const answer = await withProgress(output, 'Applying', applying);
      const done = answer.changes.filter(({ action }) => action !== 'none').length;
      output.print(withoutEnvironment(answer, ruleset), () => `Applied: ${done} rules of ${ruleset.name} changed.`);
    });
};

/** @throws CommandError if the plan would overwrite changes by others */
function refuseDrift({ changes }: PlanAnswer): void {
  const lost = changes.filter(({ action, drift }) => action !== 'none' && drift.length > 0);
  if (lost.length === 0) return;
  const lines = lost.flatMap(({ key, drift }) => drift.map((one) => `${key}: ${driftText(one)}`));
  throw new CommandError('These files would overwrite changes made by others', {
    details: lines,
    exitCode: EXIT.notFoundOrConflict,
    hint: `Add the change to the file ("${PROGRAM} rules pull" writes it) or use --overwrite. Nothing was applied.`,
  });
}

export const pullRules: DefineCommand = (command, context) => {
  command
    .argument('[ids...]', 'the rules; omit them to write every rule outside other rulesets')
    .option('--ruleset <name>', 'name of the ruleset', 'rules')
    .action(async (ids, { ruleset }) => {
      const client = await context.connect();
      const rules =
        ids.length > 0 ? await Promise.all(ids.map((id) => client.getRule({ params: { id } }))) : await all(ruleset);
      if (rules.length === 0) throw usageError('No rules to write.');
      const file = fileOf(rules, ruleset);
      const text = yamlOf(file);
      context.output.print(file, () => text.trimEnd());

      async function all(name: string): Promise<RuleAnswer[]> {
        const found: RuleAnswer[] = [];
        for await (const page of pages(client.listRules, { query: { limit: PAGE } })) {
          found.push(...page.rules.filter((rule) => rule.ruleset === undefined || rule.ruleset === name));
        }
        return found.reverse();
      }
    });
};
