/** What the adapter touches of LangChain. Names no type of the framework, so that it needs none. */
export interface Message {
  readonly content: unknown;
  readonly tool_calls?: readonly { readonly id?: string; readonly name: string; readonly args: unknown }[];
  /** Counts by LangChain's names. */
  readonly usage_metadata?: Readonly<Record<string, unknown>>;
  readonly response_metadata?: {
    readonly usage?: { readonly server_tool_use?: { readonly web_search_requests?: number } | null };
    readonly [field: string]: unknown;
  };
  readonly contentBlocks?: readonly ContentBlock[];
  readonly text?: string;
  getType(): string;
}

export interface ContentBlock {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface Model {
  readonly model?: string;
  readonly modelName?: string;
  getName?(): string;
}

export interface ModelRequest {
  readonly model: Model | string;
  readonly messages: readonly Message[];
  readonly systemMessage?: Message;
}

export type ModelHandler = (request: ModelRequest) => Promise<Message>;

/** How a tool node makes a call; anybody else gives bare arguments. */
export interface ToolNodeCall {
  readonly type: 'tool_call';
  readonly id?: string;
  readonly args: unknown;
}

export interface Tool {
  readonly name: string;
  invoke(input: unknown, config?: CallConfig): Promise<unknown>;
}

export interface ToolCallRequest {
  readonly toolCall: { readonly id?: string; readonly name: string; readonly args: unknown };
  readonly tool?: Tool;
}

export type ToolHandler = (request: ToolCallRequest) => Promise<unknown>;

export interface Middleware {
  readonly name: string;
  readonly tools?: readonly unknown[];
  readonly wrapModelCall?: (request: ModelRequest, handler: ModelHandler) => Promise<Message>;
  readonly wrapToolCall?: (request: ToolCallRequest, handler: ToolHandler) => Promise<unknown>;
}

export interface CallConfig {
  readonly signal?: AbortSignal;
  /** Of the events that are streamed. */
  readonly version?: string;
}

export interface AgentSettings {
  readonly tools?: readonly unknown[];
  readonly middleware?: readonly Middleware[];
}

export interface Agent {
  invoke(state: unknown, config?: CallConfig): Promise<unknown>;
  stream(state: unknown, config?: CallConfig): Promise<AsyncIterable<unknown>>;
  streamEvents(state: unknown, config?: CallConfig, options?: unknown): AsyncIterable<unknown>;
}

export type CreateAgent = (settings: AgentSettings) => Agent;
