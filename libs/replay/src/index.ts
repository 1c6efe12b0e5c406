export type { EnvLookup } from './env-references.ts';
export { Replay } from './replay.ts';
export { type FileRule, type FileRuleset, readRuleFiles } from './rule-file.ts';
export { rulesSchema } from './rules-schema.ts';
export { runTest, type TestResult } from './run-test.ts';
export { problemText, type SourceProblem } from './source-problem.ts';
export { readTestFile } from './test-file.ts';
