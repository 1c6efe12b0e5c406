export { Replay } from './replay.ts';
export type { EnvLookup } from './rule-file.ts';
export { type FileRule, type FileRuleset, readRuleFiles } from './rule-file.ts';
export { rulesSchema } from './rules-schema.ts';
export { runTest, type TestResult } from './run-test.ts';
export { readTestFile } from './test-file.ts';
export { problemText, type SourceProblem } from './yaml-source.ts';
