/** What the adapter touches of the OpenAI Agents SDK. Names no type of the framework, so that it needs none. */
export interface Item {
  readonly type?: string;
  readonly role?: string;
  readonly content?: unknown;
  readonly callId?: string;
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly output?: unknown;
  readonly status?: string;
}

export interface Usage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly inputTokensDetails?: Details;
  readonly outputTokensDetails?: Details;
}

/** One per request to the provider. */
export type Details = readonly Readonly<Record<string, number>>[] | Readonly<Record<string, number>>;

export interface ModelResponse {
  readonly output: readonly Item[];
  readonly usage?: Usage;
  /** The provider's answer, without its output. */
  readonly providerData?: { readonly model?: unknown; readonly service_tier?: unknown };
}

export interface ModelRequest {
  readonly systemInstructions?: string;
  readonly input: string | readonly Item[];
}

export interface StreamEvent {
  readonly type: string;
  readonly response?: ModelResponse;
}

export interface Model {
  readonly model?: string;
  /** The classes for OpenAI keep the name here. */
  readonly _model?: string;
  getResponse(request: ModelRequest): Promise<ModelResponse>;
  getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent>;
}

export interface ModelProvider {
  getModel(name?: string): Model | Promise<Model>;
}

export interface CallDetails {
  readonly toolCall?: { readonly callId?: string };
  readonly signal?: AbortSignal;
}

export interface Tool {
  readonly type: string;
  readonly name: string;
  readonly invoke?: (context: unknown, input: string, details?: CallDetails) => Promise<unknown>;
}

export interface ToolSettings {
  readonly name?: string;
  readonly execute: (input: unknown, context?: unknown, details?: CallDetails) => unknown;
}

export interface AgentSettings {
  readonly model?: unknown;
  readonly [setting: string]: unknown;
}

export interface Agent {
  readonly name: string;
  clone(settings: AgentSettings): Agent;
  asTool(options: unknown): Tool;
  getAllTools(...given: readonly unknown[]): Promise<Tool[]>;
}

export type AgentClass = new (settings: AgentSettings) => Agent;

export interface RunnerSettings {
  readonly model?: unknown;
  readonly modelProvider?: ModelProvider;
}

export interface RunOptions {
  readonly stream?: boolean;
  readonly signal?: AbortSignal;
}

export interface RunResult {
  readonly completed?: Promise<void>;
  readonly error?: unknown;
  readonly interruptions?: readonly unknown[];
}

export interface Runner {
  config: RunnerSettings;
  run(agent: Agent, input: unknown, options?: RunOptions): Promise<RunResult>;
}

export type RunnerClass = new (settings?: RunnerSettings) => Runner;
export type MakeTool = (settings: ToolSettings) => Tool;
