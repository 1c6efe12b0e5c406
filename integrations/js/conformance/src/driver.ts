import type { AgentLensClient } from '@agentlens/sdk';
import type { GuardOptions } from '@agentlens/sdk/adapter';

/** A call that the scripted model makes. */
export interface ToolUse {
  readonly id: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** It ran at the model's provider, with this result. */
  readonly providerResult?: string;
}

/** One answer of the scripted model: texts and calls. Each uses `TOKENS`. An error is thrown. */
export type Turn = readonly (string | ToolUse)[] | Error;

/** What each model call reports. */
export const TOKENS = { input: 30, output: 10 } as const;

/** A tool of the agent under test. */
export interface ToolSpec {
  readonly name: string;
  /** Answers its result in parts. */
  readonly parts?: (args: Readonly<Record<string, unknown>>) => AsyncGenerator<string>;
  readonly execute?: (args: Readonly<Record<string, unknown>>, signal?: AbortSignal) => unknown;
}

export interface AgentSpec {
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolSpec[];
  readonly prompt?: string;
  readonly stream?: boolean;
  readonly signal?: AbortSignal;
  /** Register the framework's own hooks or middleware too; each call of one is noted here. */
  readonly ownHooks?: string[];
  /** Answer the second turn by another model than the first. */
  readonly swapModel?: boolean;
}

/** An agent that the outer one calls as its tool `helper`, or hands over to. */
export interface NestedSpec {
  readonly outer: AgentSpec;
  readonly inner: AgentSpec;
}

export interface Outcome {
  /** The agent's last words. */
  readonly text: string;
  /** What the caller was thrown or told. */
  readonly error: unknown;
  /** What the model was sent with each call, as text. */
  readonly requests: readonly string[];
}

export const COLUMNS = [
  'tools',
  'sub-agents',
  'model call',
  'kill',
  'changed arguments',
  'withheld result',
  'provider tools',
] as const;
export type Column = (typeof COLUMNS)[number];

/** One framework under test, with its real code and a scripted model. */
export interface Driver {
  /** As users call it, with its major where there are several. */
  readonly name: string;
  readonly package: string;
  /** Another way to make the same agents with the framework. */
  readonly variant?: string;
  /** The version the kit runs. */
  readonly version: string;
  readonly framework: object;
  guard<M extends object>(lens: AgentLensClient, framework: M, options?: GuardOptions): M;
  run(framework: object, agent: AgentSpec): Promise<Outcome>;
  /** By the framework's own means. */
  readonly nested?: (framework: object, agents: NestedSpec) => Promise<Outcome>;
  readonly handOff?: (framework: object, agents: NestedSpec) => Promise<Outcome>;
  /** An export without which the adapter does not know the framework's version. */
  readonly marks: readonly string[];
  /** How the framework names a tool, if not as it is. */
  readonly named?: (tool: string) => string;
  /** The tool that calls the agent `helper`, as the record names it, if not by its own name. */
  readonly subAgentTool?: string;
  /** What an agent of this framework cannot do, by scenario; each with the reason. */
  readonly cannot: Readonly<Record<string, string>>;
  /** What to say in the table, if not `enforce`. */
  readonly badges?: Partial<Record<Column, string>>;
}
