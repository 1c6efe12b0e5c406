/** What the adapter touches of the ADK. Names no type of the framework, so that it needs none. */
export interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly functionCall?: { readonly id?: string; readonly name?: string; readonly args?: unknown };
  readonly functionResponse?: { readonly id?: string; readonly name?: string; readonly response?: unknown };
}

export interface Content {
  readonly role?: string;
  readonly parts?: readonly Part[];
}

export interface LlmRequest {
  readonly contents: readonly Content[];
  readonly config?: { readonly systemInstruction?: unknown };
  readonly toolsDict: Record<string, Tool>;
}

export interface LlmResponse {
  readonly content?: Content;
  readonly partial?: boolean;
  readonly errorCode?: string;
  readonly errorMessage?: string;
  /** Counts by Gemini's names. */
  readonly usageMetadata?: Readonly<Record<string, unknown>>;
}

export interface Model {
  readonly model: string;
  generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void>;
}

export interface ToolContext {
  readonly functionCallId?: string;
  readonly abortSignal?: AbortSignal;
  readonly invocationContext?: { endInvocation?: boolean };
}

export interface ToolRequest {
  readonly args: unknown;
  readonly toolContext: ToolContext;
}

export interface Tool {
  readonly name: string;
  /** Of a tool that is an agent. */
  readonly agent?: unknown;
  runAsync(request: ToolRequest): Promise<unknown>;
}

export interface LlmAgent {
  readonly canonicalModel: Model;
  canonicalTools(...given: readonly unknown[]): Promise<Tool[]>;
}

export type LlmAgentClass = new (settings: object) => LlmAgent;

export interface RunParams {
  readonly userId?: string;
  readonly sessionId?: string;
  readonly abortSignal?: AbortSignal;
}

export interface Event {
  readonly errorCode?: string;
  readonly errorMessage?: string;
}

export interface Runner {
  runAsync(params: RunParams): AsyncGenerator<Event, void>;
}

export type RunnerClass = new (settings: object) => Runner;
