export type { AgentLensClient, ClientStatus } from './client.ts';
export { AgentLens } from './client.ts';
export { selectorRules } from './guard/applicable.ts';
export type {
  BundledRule,
  CompiledRules,
  LocalCall,
  LocalJudgement,
  LocalRules,
  RuleBundle,
} from './guard/local-rules.ts';
export type { OrderedState } from './guard/operator-orders.ts';
export type { AgentLensOptions, Logger } from './options.ts';
export {
  type CheckedValue,
  isStandardSchema,
  type JsonSchema,
  type OutputIssue,
  type OutputSchema,
  type StandardSchema,
  schemaChecker,
} from './output/schema.ts';
export {
  type Corrected,
  OutputError,
  type SelfCorrectOptions,
  selfCorrect,
  type ValidatedOutput,
  type ValidateOptions,
  validateOutput,
} from './output/validate-output.ts';
export { DETECTORS, type Detector, type DetectorName } from './redact/detectors.ts';
export { type Redacted, type RedactionFinding, type RedactOptions, redact, redactDeep } from './redact/redact.ts';
export {
  AgentStopped,
  type BlockedResult,
  blockedResult,
  isAgentStopped,
  isBlockedResult,
  isToolBlocked,
  ToolBlocked,
} from './run/agent-stopped.ts';
export type { Run } from './run/run.ts';
export type { AdapterInfo, ApprovalWait, LlmCallOptions, RunConfig, ToolCallOptions } from './run/run-config.ts';
export { getCurrentRun, useContextStore, withRun } from './run/run-context.ts';
export {
  defineTool,
  type GuardedTool,
  type ToolDefinition,
  toolInfo,
  type WrapOptions,
  wrapTool,
} from './run/wrap-tool.ts';
export type { ContextStore, Http, HttpAnswer, HttpCall, HttpStream, Runtime, RuntimeClock } from './runtime/runtime.ts';
export type { SinkOptions } from './sink/event-queue.ts';
export type { SinkStats } from './sink/event-sink.ts';
export type { Bypass, Decision, EvaluatedRule, WireDecision } from './wire/decision.ts';
export { ApiKeyRefused } from './wire/failures.ts';
export type {
  Actor,
  AgentIdentity,
  AgentMessage,
  LlmPart,
  LlmResponse,
  LlmUsage,
  Lockdown,
  ModelInfo,
  RunEnding,
  RunStatus,
  Subject,
  ToolInfo,
} from './wire/model.ts';
export type { ModelCallFacts, ModelResponseLike, UsageLike } from './wire/model-response.ts';
