/** What the adapter touches of Mastra. Names no type of the framework, so that it needs none. */
export interface ToolHookContext {
  readonly toolName: string;
  readonly input: unknown;
  readonly context?: {
    readonly toolCallId?: string;
    readonly agent?: { readonly toolCallId?: string };
    readonly abortSignal?: AbortSignal;
  };
  readonly output?: unknown;
  readonly error?: unknown;
}

export interface ToolHooks {
  readonly beforeToolCall?: (context: ToolHookContext) => unknown;
  readonly afterToolCall?: (context: ToolHookContext) => unknown;
}

export interface PromptMessage {
  readonly role: string;
  readonly content: unknown;
}

export interface Chunk {
  readonly type: string;
  readonly payload?: {
    readonly text?: string;
    readonly toolCallId?: string;
    readonly toolName?: string;
    readonly args?: unknown;
    readonly error?: { readonly name?: string; readonly message?: string };
    readonly output?: { readonly usage?: Readonly<Record<string, unknown>> };
    readonly metadata?: { readonly providerMetadata?: unknown };
    readonly providerMetadata?: unknown;
  };
}

interface Model {
  readonly modelId?: string;
  readonly provider?: string;
}

export interface RequestArgs {
  readonly prompt: readonly PromptMessage[];
  readonly model: Model;
  readonly state: Record<string, unknown>;
}

export interface ResponseArgs {
  readonly chunks: readonly Chunk[];
  readonly model: Model;
  readonly state: Record<string, unknown>;
  readonly fromCache?: boolean;
}

export interface ToolResultArgs {
  readonly toolName: string;
  readonly toolCallId: string;
  readonly args: unknown;
  readonly result: unknown;
  readonly providerExecuted?: boolean;
  readonly messageList: { updateToolInvocation(part: object): boolean };
}

export interface Processor {
  readonly id: string;
  readonly processLLMRequest?: (args: RequestArgs) => Promise<{ prompt: readonly PromptMessage[] }>;
  readonly processLLMResponse?: (args: ResponseArgs) => Promise<void>;
  readonly processToolResult?: (args: ToolResultArgs) => Promise<unknown>;
}

type Processors = readonly Processor[] | ((context: unknown) => readonly Processor[] | Promise<readonly Processor[]>);
type Callback = (event: unknown) => unknown;

export interface AgentSettings {
  readonly hooks?: ToolHooks;
  readonly inputProcessors?: Processors;
  readonly outputProcessors?: Processors;
  readonly [setting: string]: unknown;
}

export interface CallOptions {
  readonly hooks?: ToolHooks;
  readonly inputProcessors?: readonly Processor[];
  readonly outputProcessors?: readonly Processor[];
  readonly abortSignal?: AbortSignal;
  readonly onFinish?: Callback;
  readonly onError?: Callback;
  readonly onAbort?: Callback;
}

export interface Result {
  readonly finishReason?: string;
  readonly error?: unknown;
}

export interface Agent {
  generate(input: unknown, options?: CallOptions): Promise<Result>;
  stream(input: unknown, options?: CallOptions): Promise<unknown>;
  resumeGenerate(data: unknown, options?: CallOptions): Promise<Result>;
  resumeStream(data: unknown, options?: CallOptions): Promise<unknown>;
}

export type AgentClass = new (settings: AgentSettings) => Agent;
