import type { ChildProcess } from 'node:child_process';

/** What the adapter touches of the Claude Agent SDK. Names no type of the framework, so that it needs none. */
export interface HookInput {
  readonly hook_event_name: string;
  readonly session_id?: string;
  /** Of the sub-agent that it happens in. */
  readonly agent_id?: string;
  readonly prompt?: string;
  /** Of the main agent. */
  readonly transcript_path?: string;
  readonly tool_name?: string;
  readonly tool_input?: unknown;
  readonly tool_use_id?: string;
  readonly tool_response?: unknown;
  readonly tool_calls?: readonly { readonly tool_use_id?: string; readonly tool_response?: unknown }[];
  readonly error?: string;
  readonly duration_ms?: number;
}

export interface HookOutput {
  readonly continue?: boolean;
  readonly stopReason?: string;
  readonly decision?: 'block';
  readonly reason?: string;
  readonly hookSpecificOutput?: Readonly<Record<string, unknown>>;
}

export type Hook = (
  input: HookInput,
  toolUseId: string | undefined,
  rest: { signal: AbortSignal },
) => Promise<HookOutput>;

export interface HookMatcher {
  readonly matcher?: string;
  readonly hooks: readonly Hook[];
  /** Seconds. */
  readonly timeout?: number;
  readonly onFailure?: 'continue' | 'block';
}

export type Hooks = Readonly<Record<string, readonly HookMatcher[] | undefined>>;

export interface SpawnOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
}

export interface Options {
  readonly hooks?: Hooks;
  readonly abortController?: AbortController;
  readonly includePartialMessages?: boolean;
  readonly spawnClaudeCodeProcess?: (options: SpawnOptions) => unknown;
  readonly stderr?: (text: string) => void;
  readonly [option: string]: unknown;
}

export interface QueryInput {
  readonly prompt: unknown;
  readonly options?: Options;
}

export interface ContentBlock {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  readonly content?: unknown;
}

export interface Usage {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_read_input_tokens?: number;
  readonly cache_creation_input_tokens?: number;
  readonly cache_creation?: { readonly ephemeral_1h_input_tokens?: number } | null;
  readonly service_tier?: string | null;
  readonly server_tool_use?: { readonly web_search_requests?: number } | null;
}

/** What a query used of a model, in all agents. */
export interface ModelUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadInputTokens?: number;
  readonly cacheCreationInputTokens?: number;
}

/** What a sub-agent's call answers; its usage is that of its last model call. */
export interface SubAgentResponse {
  readonly agentId?: string;
  readonly content?: readonly ContentBlock[];
  readonly resolvedModel?: string;
  readonly usage?: Usage;
}

/** An event of the Messages API's stream. */
export interface ApiEvent {
  readonly type: string;
  readonly index?: number;
  readonly message?: { readonly model?: string; readonly usage?: Usage };
  readonly content_block?: ContentBlock;
  readonly delta?: { readonly type?: string; readonly text?: string; readonly partial_json?: string };
  readonly usage?: Usage;
}

export interface SdkMessage {
  readonly type: string;
  readonly subtype?: string;
  readonly event?: ApiEvent;
  readonly is_error?: boolean;
  /** Since the query began. */
  readonly modelUsage?: Readonly<Record<string, ModelUsage>>;
  readonly model_usage_since_last_result?: Readonly<Record<string, ModelUsage>>;
  /** Of a sub-agent that has ended. */
  readonly task_id?: string;
  readonly session_id?: string;
  readonly parent_tool_use_id?: string | null;
  readonly message?: {
    readonly id?: string;
    readonly model?: string;
    readonly content?: unknown;
    readonly usage?: Usage;
  };
}

export type Query = AsyncGenerator<SdkMessage, void>;
export type QueryFunction = (input: QueryInput) => Query;
export type Child = ChildProcess;
