export type { EnvLookup } from './env-references.ts';
export { type CallContext, Replay } from './replay.ts';
export { FILE_VERSION, type FileRule, type FileRuleset, type ReadRules, readRuleFiles } from './rule-file.ts';
export { rulesSchema } from './rules-schema.ts';
export { runTest, type TestFailure, type TestResult } from './run-test.ts';
export { problemText, type SourceProblem } from './source-problem.ts';
export { type PlacedTest, type ReadTests, readTestFile } from './test-file.ts';
export type { SourceFile } from './yaml-source.ts';
