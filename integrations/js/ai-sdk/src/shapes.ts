/** What the adapter touches of the AI SDK, in all three majors. Names no type of the framework, so that it needs none. */
export interface AiModule {
  readonly wrapLanguageModel?: (options: { model: unknown; middleware: object }) => unknown;
  readonly gateway?: { languageModel(id: string): unknown };
}

export interface ToolExecution {
  readonly toolCallId?: string;
  readonly abortSignal?: AbortSignal;
}

export type Execute = (input: unknown, execution: ToolExecution) => unknown;

export interface Tool {
  readonly type?: string;
  readonly execute?: Execute;
  readonly needsApproval?: boolean | ApproveTool;
}

export type Tools = Readonly<Record<string, Tool>>;

type StopCondition = (state: { readonly steps: readonly unknown[] }) => boolean | PromiseLike<boolean>;
type Callback = (event: unknown) => unknown;

export type Approval = string | { readonly type: string; readonly reason?: string } | undefined;
export interface ApprovalContext {
  readonly toolCallId: string;
}
export type ApproveTool = (
  input: unknown,
  context: ApprovalContext,
) => Approval | boolean | PromiseLike<Approval | boolean>;
export type ApproveCall = (request: {
  readonly toolCall: { readonly toolCallId: string; readonly toolName: string; readonly input: unknown };
}) => Approval | PromiseLike<Approval>;

/** The settings of a call or an agent. */
export interface AiSettings {
  readonly model?: unknown;
  readonly tools?: Tools;
  readonly abortSignal?: AbortSignal;
  readonly stopWhen?: StopCondition | readonly StopCondition[];
  readonly prepareStep?: (options: unknown) => unknown;
  readonly prepareCall?: (options: AiSettings) => AiSettings | PromiseLike<AiSettings>;
  readonly toolApproval?: ApproveCall | Readonly<Record<string, Approval | ApproveTool>>;
  readonly onError?: Callback;
  readonly onAbort?: Callback;
  readonly onFinish?: Callback;
  readonly onEnd?: Callback;
}

export type AiFunction = (settings: AiSettings) => unknown;
export interface AiAgent {
  generate(options: AiSettings): Promise<unknown>;
  stream(options: AiSettings): unknown;
}
export type AiAgentClass = new (settings: AiSettings) => AiAgent;

/** In which words the majors differ. */
export interface Dialect {
  readonly major: 5 | 6 | 7;
  /** The version of the middleware's interface, by the field it stands in. */
  readonly middleware: object;
  readonly endCallback: 'onFinish' | 'onEnd';
  /** Steps of an agent that says nothing of them. */
  readonly agentSteps: number;
  /** Exports that only this major has. */
  readonly marks: readonly string[];
}
