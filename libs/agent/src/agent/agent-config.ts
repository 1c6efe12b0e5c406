import type { OutputSchema } from '@agentlens/sdk';
import type { Connector } from '../connectors/connector.ts';
import type { ErrorInfo } from '../core/agent-error.ts';
import type { AgentEvent } from '../core/agent-event.ts';
import type { PermissionAnswer, PermissionRequest } from '../core/input-output.ts';
import type { Json } from '../core/json.ts';
import type { TokenUsage } from '../core/token-usage.ts';
import type { CallOptions, LLMClient } from '../llm/llm-client.ts';
import type { ModelProvider, SelectProvider } from '../llm/model-provider.ts';
import type { ModelRetry } from '../llm/retry.ts';
import type { DatabaseClient } from '../memory/database-client.ts';
import type { MemoryClient } from '../memory/memory-client.ts';
import type { PermissionManager } from '../permissions/permission-manager.ts';
import type { PermissionRule } from '../permissions/rule.ts';
import type { PromptStore } from '../prompts/prompt-store.ts';
import type { Cassette } from '../replay/cassette.ts';
import type { AgentRuntime } from '../runtime/agent-runtime.ts';
import type { RunLimits } from '../runtime/capacity.ts';
import type { SafetyPolicy } from '../safety/safety-policy.ts';
import type { Principal } from '../security/roles.ts';
import type { Tool } from '../tools/tool.ts';
import type { Agent } from './agent.ts';
import type { Planner, Reflector, ToolExecutor } from './planner-state.ts';

export interface MemoryPolicy {
  /** Stores each message in the memory under `conversation:<session id>`. */
  readonly conversation?: boolean;
  readonly ttlMs?: number;
  /** Stores internal notes under `scratchpad:<session id>`. */
  readonly scratchpad?: boolean;
}

export interface PromptReference {
  readonly templateId: string;
  readonly version?: string;
  readonly params?: Readonly<Record<string, Json>>;
}

export interface AgentConfig {
  readonly id: string;
  /** With `input` it is the system prompt; without, it is the instruction to the model. */
  readonly taskPrompt: string | PromptReference;
  readonly tools?: readonly (Tool | Connector)[];
  readonly modelProviders: readonly (ModelProvider | LLMClient)[];
  readonly selectProvider?: SelectProvider;
  /** For every model call: model, thinking, temperature … */
  readonly callOptions?: Omit<CallOptions, 'system' | 'tools' | 'signal' | 'output'>;
  readonly costCeilingUsd?: number;
  readonly memoryClient?: MemoryClient;
  readonly databaseClient?: DatabaseClient;
  readonly promptStore?: PromptStore;
  readonly memoryPolicy?: MemoryPolicy;
  readonly planner?: Planner;
  readonly executor?: ToolExecutor;
  readonly reflector?: Reflector;
  readonly permissions?: PermissionManager | readonly PermissionRule[];
  readonly safety?: SafetyPolicy;
  /** Without it, calls that need permission are denied at once. `handle`: answer with `handle.respondToPermission`. */
  readonly onPermissionRequest?:
    | 'handle'
    | ((request: PermissionRequest) => Promise<Omit<PermissionAnswer, 'requestId'>>);
  /** File for answers remembered as "always". */
  readonly rulesFile?: string;
  /** Schema of the answer. If it does not match, the model gets the errors and up to two more attempts. */
  readonly output?: OutputSchema<unknown>;
  /** Default 10. */
  readonly maxSteps?: number;
  readonly limits?: Partial<Omit<RunLimits, 'maxSteps'>>;
  readonly retry?: { readonly model?: Partial<ModelRetry> };
  readonly hooks?: AgentHooks;
  readonly subAgents?: Readonly<Record<string, Agent>>;
  /** Default: a separate runtime, in memory and without a host. */
  readonly runtime?: AgentRuntime;
  readonly role?: Principal;
}

/** What one turn is about; everything else is in the agent's configuration. */
export interface AgentSpec {
  /** Default: the options' input, or else the agent's task. */
  readonly task?: string;
}

export interface RunOptions {
  readonly input?: string;
  /** Continues this stored session: an unfinished turn first, without repeating the task. */
  readonly sessionId?: string;
  readonly runId?: string;
  readonly signal?: AbortSignal;
  readonly maxSteps?: number;
  /** Parameters of the task's template. */
  readonly params?: Readonly<Record<string, Json>>;
  readonly seed?: number;
  readonly startAt?: string;
  readonly record?: Cassette;
  readonly replay?: Cassette;
  /** In the result, in the agent's `databaseClient`, or nowhere (default). */
  readonly events?: 'none' | 'inline' | 'stored';
}

/** Called as events happen. An error in a hook becomes a warning and has no other effect. */
export interface AgentHooks {
  onStepStart?(step: { readonly step: number; readonly sessionId: string }): void;
  /** A piece of text, or the usage of a call. */
  onModelTokens?(tokens: { readonly text: string } | { readonly usage: TokenUsage }): void;
  onToolCall?(toolId: string, input: Json): void;
  onError?(error: ErrorInfo): void;
}

export function callHooks(hooks: AgentHooks, event: AgentEvent): void {
  switch (event.type) {
    case 'step-start':
      hooks.onStepStart?.({ step: event.step, sessionId: event.sessionId });
      break;
    case 'text-delta':
      hooks.onModelTokens?.({ text: event.text });
      break;
    case 'model-end':
      if (event.error === undefined) hooks.onModelTokens?.({ usage: event.usage });
      break;
    case 'tool-start':
      hooks.onToolCall?.(event.name, event.input);
      break;
    case 'error':
      hooks.onError?.(event.error);
      break;
    default:
  }
}
