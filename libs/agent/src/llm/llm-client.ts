import type { JsonSchema } from '@agentlens/sdk';
import type { ContentBlock, Message } from '../core/message.ts';
import type { TokenUsage } from '../core/token-usage.ts';
import type { ToolDefinition } from '../tools/tool.ts';

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

export interface ThinkingConfig {
  readonly budgetTokens?: number;
  readonly effort?: 'low' | 'medium' | 'high';
}

export interface CallOptions {
  readonly model?: string;
  readonly system?: string;
  readonly tools?: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  readonly thinking?: ThinkingConfig;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly stop?: readonly string[];
  /** Schema of the answer, for providers that can guarantee JSON. */
  readonly output?: JsonSchema;
  readonly signal?: AbortSignal;
  /** Timeout of the whole call. Default 120 000. */
  readonly timeoutMs?: number;
}

export type StreamOptions = CallOptions;

export type StopReason = 'end_turn' | 'tool_use' | 'max_tokens' | 'refusal' | 'other';

export interface ModelResponse {
  readonly id?: string;
  readonly model: string;
  readonly content: readonly ContentBlock[];
  readonly stopReason: StopReason;
  readonly usage: TokenUsage;
  readonly costUsd?: number;
}

/** A piece of an answer. The last one is the complete answer; a stream that ends without it was truncated. */
export type ModelPart =
  | { readonly type: 'text-delta' | 'thinking-delta'; readonly text: string }
  | { readonly type: 'tool-input-delta'; readonly id: string; readonly name?: string; readonly json: string }
  | { readonly type: 'response'; readonly response: ModelResponse };

/** Alias of `ModelPart`, as agent definitions call it. */
export type TokenChunk = ModelPart;

export interface LlmModelInfo {
  readonly name: string;
  readonly provider?: string;
  readonly maxTokens?: number;
  readonly supportsStreaming?: boolean;
}

export type ModelInput = string | readonly Message[];

/** A language model. It throws only an AgentError with a code that starts with `model_`, or the abort reason. */
export interface LLMClient {
  call(input: ModelInput, options?: CallOptions): Promise<ModelResponse>;
  stream?(input: ModelInput, options?: StreamOptions): AsyncIterable<ModelPart>;
  getModelInfo?(): Promise<LlmModelInfo>;
  close?(): Promise<void>;
}

export function messagesOf(input: ModelInput): readonly Message[] {
  return typeof input === 'string' ? [{ role: 'user', content: [{ type: 'text', text: input }] }] : input;
}
