import type { AgentLensClient } from '@agentlens/sdk';
import type { GuardOptions } from '@agentlens/sdk/adapter';

/** A tool call by the scripted model. */
export interface ToolUse {
  readonly id: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Result of a call that ran at the model's provider. */
  readonly providerResult?: string;
}

/** One response of the scripted model: texts and calls. Each response uses `TOKENS`. An error is thrown. */
export type Turn = readonly (string | ToolUse)[] | Error;

/** Usage that each model call reports. */
export const TOKENS = { input: 30, output: 10 } as const;

/** A tool of the agent under test. */
export interface ToolSpec {
  readonly name: string;
  /** Returns its result in parts. */
  readonly parts?: (args: Readonly<Record<string, unknown>>) => AsyncGenerator<string>;
  readonly execute?: (args: Readonly<Record<string, unknown>>, signal?: AbortSignal) => unknown;
}

export interface AgentSpec {
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolSpec[];
  readonly prompt?: string;
  readonly stream?: boolean;
  readonly signal?: AbortSignal;
  /** If set, also register the framework's own hooks or middleware, which append their calls here. */
  readonly ownHooks?: string[];
  /** Use another model for the second turn. */
  readonly swapModel?: boolean;
}

/** An outer agent that calls the inner one as its tool `helper`, or hands over to it. */
export interface NestedSpec {
  readonly outer: AgentSpec;
  readonly inner: AgentSpec;
}

export interface Outcome {
  /** The agent's final text. */
  readonly text: string;
  /** The error that the caller received. */
  readonly error: unknown;
  /** Each request to the model, as text. */
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

/** Test driver for one framework, with its real code and a scripted model. */
export interface Driver {
  /** Name for users, with the major version if there are several. */
  readonly name: string;
  readonly package: string;
  /** Another way to create the same agents with the framework. */
  readonly variant?: string;
  /** Version of the framework under test. */
  readonly version: string;
  readonly framework: object;
  guard<M extends object>(lens: AgentLensClient, framework: M, options?: GuardOptions): M;
  run(framework: object, agent: AgentSpec): Promise<Outcome>;
  /** Runs a nested agent with the framework's own means. */
  readonly nested?: (framework: object, agents: NestedSpec) => Promise<Outcome>;
  readonly handOff?: (framework: object, agents: NestedSpec) => Promise<Outcome>;
  /** Exports that the adapter needs to recognize the framework's version. */
  readonly marks: readonly string[];
  /** Maps a tool's name to the framework's, if they differ. */
  readonly named?: (tool: string) => string;
  /** Recorded name of the tool that calls the agent `helper`, if it is not `helper`. */
  readonly subAgentTool?: string;
  /** Scenarios that an agent of this framework does not support, with the reason. */
  readonly cannot: Readonly<Record<string, string>>;
  /** Text for a table cell, if it is not the default. */
  readonly badges?: Partial<Record<Column, string>>;
}

/** Responses of the scripted model, turn by turn, and the requests it received. */
export class Script {
  readonly requests: string[] = [];
  readonly #turns: readonly Turn[];

  constructor(turns: readonly Turn[]) {
    this.#turns = turns;
  }

  /** Returns the next turn; repeats the last one if the framework asks again. @throws the turn if it is an error */
  next(request: unknown): readonly (string | ToolUse)[] {
    const turn = this.#turns[Math.min(this.requests.length, this.#turns.length - 1)] ?? [];
    this.requests.push(typeof request === 'string' ? request : JSON.stringify(request));
    if (turn instanceof Error) throw turn;
    return turn;
  }
}
