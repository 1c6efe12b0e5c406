import { dirname, join } from 'node:path';
import type { SourceProblem, TestResult } from '@agentlens/replay';
import { Option } from '@commander-js/extra-typings';
import { CommandError } from '../../command-error.ts';
import type { CommandFile } from '../../command-file.ts';
import { findRuleFiles, findTestFiles } from '../../rule-files/find-files.ts';
import { refuseProblems } from '../../rule-files/read-ruleset.ts';
import { REPORTS, reportOf } from '../../rule-files/test-reports.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<paths...>', 'files of tests (*.test.yaml), or folders that hold them')
    .addOption(new Option('--format <format>', 'of the results').choices(REPORTS).default('text' as const))
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
