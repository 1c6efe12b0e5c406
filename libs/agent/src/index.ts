export { ActiveSession, AgentRunner, type Runner } from './agent/active-session.ts';
/** `AgentService` is an alias: an agent over a runtime that creates sessions. */
export { Agent, Agent as AgentService, type DriveOptions, type Health } from './agent/agent.ts';
export type {
  AgentConfig,
  AgentHooks,
  AgentSpec,
  MemoryPolicy,
  PromptReference,
  RunOptions,
} from './agent/agent-config.ts';
export type { AgentResult, Event, EventHandler, ModelCall, Provenance } from './agent/agent-result.ts';
export type {
  ExecutionContext,
  PlannedCall,
  Planner,
  PlannerState,
  PlanStep,
  Reflection,
  Reflector,
  StepOutcome,
  ToolExecutor,
} from './agent/planner-state.ts';
export { modelPlanner, planReflector, type ScriptedPlan, scriptedPlanner } from './agent/planners.ts';
export { DRIVER, type DriverResources, subAgentTool } from './agent/sub-agent-tool.ts';
export { type Connector, type ConnectorResult, connectorTool } from './connectors/connector.ts';
export {
  AgentContext,
  type AgentContextInit,
  type ResourceId,
  ResourceKey,
  ResourceMap,
} from './core/agent-context.ts';
export {
  AgentError,
  ERROR_CODES,
  type ErrorCode,
  type ErrorInfo,
  errorInfo,
  isAgentError,
} from './core/agent-error.ts';
export type { AgentEvent, DriverEvent, Lagged } from './core/agent-event.ts';
export type { AgentState, RunningCall } from './core/agent-state.ts';
export type {
  InputMessage,
  OutputChunk,
  PermissionAnswer,
  PermissionRequest,
  PermissionResponse,
  Remember,
} from './core/input-output.ts';
export type { Json, Metadata } from './core/json.ts';
export {
  type ContentBlock,
  Message,
  openToolUses,
  type TextBlock,
  type ThinkingBlock,
  type ToolInfo,
  ToolResult,
  type ToolResultBlock,
  type ToolUseBlock,
  textOf,
  toolUsesOf,
} from './core/message.ts';
export type { TokenUsage } from './core/token-usage.ts';
export type { EffectKind, Effects } from './effects/effects.ts';
export type { ModelFactory, ModelSource } from './llm/fallback.ts';
export type {
  CallOptions,
  LLMClient,
  LlmModelInfo,
  ModelInput,
  ModelPart,
  ModelResponse,
  StopReason,
  StreamOptions,
  ThinkingConfig,
  TokenChunk,
  ToolChoice,
} from './llm/llm-client.ts';
export type { ModelNeed, ModelProvider, ProviderStats, SelectProvider } from './llm/model-provider.ts';
export type { DatabaseClient, DatabaseQuery, DatabaseRow } from './memory/database-client.ts';
export type { MemoryChange } from './memory/filtered-memory.ts';
export type { MemoryClient, MemoryEntry } from './memory/memory-client.ts';
export { DATABASE, MEMORY } from './memory/memory-client.ts';
export type { CheckOptions, PermissionCheck, PermissionManagerOptions } from './permissions/permission-manager.ts';
export { PermissionManager } from './permissions/permission-manager.ts';
export {
  PermissionRule,
  type RuleDecision,
  type RuleMatcher,
  type RuleOptions,
  type RuleScope,
} from './permissions/rule.ts';
export type { GuardedRun, RunGuard } from './platform/run-guard.ts';
export type { PromptStore, PromptTemplate } from './prompts/prompt-store.ts';
export type { AgentHandle, ParentInfo, SendOptions } from './runtime/agent-handle.ts';
export { type AgentFunction, AgentInternals } from './runtime/agent-internals.ts';
export type { RuntimeLogger } from './runtime/agent-runtime.ts';
export { AgentRuntime, type AgentRuntimeOptions, type SpawnOptions } from './runtime/agent-runtime.ts';
export type { RunLimits, RuntimeLimits } from './runtime/capacity.ts';
export type { ChildOptions, ChildResult } from './runtime/sub-agents.ts';
export { type SubscribeOptions, Subscription } from './runtime/subscription.ts';
export { SafetyLayer } from './safety/safety-layer.ts';
export type { FilterAnswer, RateLimit, SafetyFilter, SafetyPolicy } from './safety/safety-policy.ts';
export { AgentSession, type AgentSessionOptions } from './session/agent-session.ts';
export { DatabaseSessionStore } from './session/database-session-store.ts';
export { FileSessionStore, type FileSessionStoreOptions } from './session/file-session-store.ts';
export { MemorySessionStore } from './session/memory-session-store.ts';
export type {
  SessionEntry,
  SessionFilter,
  SessionLease,
  SessionMetadata,
  SessionStore,
  StoredSession,
} from './session/session-store.ts';
export type { PipelineHost, PipelineOptions } from './tools/pipeline-host.ts';
export type { ActionResult, ToolCall } from './tools/tool.ts';
export {
  type RetryRule,
  type Tool,
  type ToolCategory,
  type ToolDefinition,
  ToolFailedError,
  ToolFatalError,
  type ToolOptions,
  ToolRetryableError,
  tool,
} from './tools/tool.ts';
export { ToolPipeline } from './tools/tool-pipeline.ts';
export { type ToolFilter, ToolRegistry } from './tools/tool-registry.ts';
