export { defaultOnUnavailable } from '@agentlens/guardrails';
export {
  type BacktestCounts,
  type BacktestFinding,
  type BacktestQuestion,
  type BacktestTotals,
  MAX_FINDINGS,
  NO_TICKS,
  RuleBacktest,
  WARM_UP_MS,
} from './backtest.ts';
export { Replay } from './replay.ts';
export type { EnvLookup } from './rule-file.ts';
export { type FileRule, type FileRuleset, readRuleFiles } from './rule-file.ts';
export { rulesSchema } from './rules-schema.ts';
export { runTest, type TestResult } from './run-test.ts';
export {
  ArrivalOrder,
  decisionOfRow,
  type PastDecision,
  type StoredDecisionRow,
  type StoredEventRow,
} from './stored-history.ts';
export { readTestFile } from './test-file.ts';
export { problemText, type SourceProblem } from './yaml-source.ts';
