/** What the adapter touches of VoltAgent. Names no type of the framework, so that it needs none. */
export interface ToolHookArgs {
  readonly tool: { readonly name: string; readonly tags?: readonly string[] };
  readonly args?: unknown;
  readonly output?: unknown;
  readonly error?: unknown;
  readonly originalError?: unknown;
  readonly options?: { readonly toolContext?: { readonly callId?: string; readonly abortSignal?: AbortSignal } };
}

type Hook<A> = (given: A) => unknown;

export interface EndHookArgs {
  readonly error?: unknown;
}

export interface Hooks {
  readonly onToolStart?: Hook<ToolHookArgs>;
  readonly onToolEnd?: Hook<ToolHookArgs>;
  readonly onToolError?: Hook<ToolHookArgs>;
  readonly onEnd?: Hook<EndHookArgs>;
}

export interface AgentSettings {
  readonly model?: unknown;
  readonly hooks?: Hooks;
}

export interface CallOptions {
  readonly model?: unknown;
  readonly hooks?: Hooks;
  readonly abortSignal?: AbortSignal;
}

export interface Agent {
  generateText(input: unknown, options?: CallOptions): Promise<unknown>;
  generateObject(input: unknown, schema: unknown, options?: CallOptions): Promise<unknown>;
  streamText(input: unknown, options?: CallOptions): Promise<unknown>;
  streamObject(input: unknown, schema: unknown, options?: CallOptions): Promise<unknown>;
  /** Finds the model that a name, a function or a list of fallbacks stands for. */
  resolveModel?(value: unknown, context: unknown): Promise<unknown>;
}

export type AgentClass = new (settings: AgentSettings) => Agent;
