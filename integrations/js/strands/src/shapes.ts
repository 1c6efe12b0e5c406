/** What the adapter touches of Strands. Names no type of the framework, so that it needs none. */
export interface Block {
  readonly type: string;
  readonly text?: string;
  readonly name?: string;
  readonly toolUseId?: string;
  readonly input?: unknown;
  readonly status?: string;
  readonly content?: readonly Block[];
  readonly error?: unknown;
}

export interface Message {
  readonly role: string;
  readonly content: readonly Block[];
}

export interface ToolContext {
  readonly toolUse: { readonly name: string; readonly toolUseId: string; readonly input: unknown };
  readonly cancelSignal?: AbortSignal;
}

export interface ToolResult {
  readonly result: Block;
}

interface Model {
  readonly modelId?: string;
  getConfig?(): { readonly modelId?: string };
}

export interface ModelContext {
  readonly model: Model;
  readonly messages: readonly Message[];
  readonly systemPrompt?: unknown;
}

export interface ModelUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly cacheReadInputTokens?: number;
  readonly cacheWriteInputTokens?: number;
}

export interface ModelResult {
  readonly result: {
    readonly message: Message;
    readonly metadata?: { readonly usage?: ModelUsage };
  };
}

/** Wraps a stage: yields its events and returns its result. */
type Middleware<C, R> = (context: C, next: (context: C) => AsyncGenerator<unknown, R>) => AsyncGenerator<unknown, R>;

export interface Agent {
  addMiddleware<C, R>(stage: unknown, middleware: Middleware<C, R>): unknown;
  stream(input: unknown, options?: CallOptions): AsyncGenerator<unknown, AgentResult>;
}

export interface AgentResult {
  readonly stopReason: string;
}

export interface CallOptions {
  readonly cancelSignal?: AbortSignal;
}

export interface Plugin {
  readonly name: string;
  initAgent(agent: Agent): void;
}

export interface AgentSettings {
  readonly plugins?: readonly Plugin[];
}

export type AgentClass = new (settings?: AgentSettings) => Agent;

/** The exports that the plugin needs beside the agent. */
export interface StrandsModule {
  readonly ExecuteToolStage: unknown;
  readonly InvokeModelStage: unknown;
  readonly ToolResultBlock: new (data: object) => Block;
  readonly TextBlock: new (text: string) => Block;
}
