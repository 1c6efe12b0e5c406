import type { Scope } from '@agentlens/contracts/schemas';
import type { z } from 'zod';
import type { Confirmation } from './confirmation.ts';
import type { FoundData } from './found-data.ts';
import type { McpSession } from './mcp-session.ts';

type InputOf<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;

type InputWith<Input, Needed extends keyof Input> = Input & { readonly [K in Needed]-?: NonNullable<Input[K]> };

/** What one action of a tool takes, and what it does with it. */
interface ActionOf<Given, Field, Needed extends Field = Field> {
  /** The scope of the key; an action that needs more than `read` changes something. */
  readonly scope: Scope;
  /** Fields that must be there. */
  readonly needs?: readonly Needed[];
  /** Fields that may be there. */
  readonly takes?: readonly Field[];
  /** What has to be confirmed first, if anything. */
  readonly confirm?: (session: McpSession, input: Given) => Promise<Confirmation | undefined>;
  readonly run: (session: McpSession, input: Given) => Promise<FoundData>;
}

export interface ToolInput {
  readonly [field: string]: unknown;
}

export type ToolAction = ActionOf<ToolInput, string>;

/** One tool: a flat set of fields, and actions that each take some of them. The first action is the default. */
export interface McpTool {
  /** Without the prefix. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly fields: Readonly<Record<string, z.ZodType>>;
  readonly actions: Readonly<Record<string, ToolAction>>;
}

/** For the actions of a tool with these fields: `run` is given the fields it needs as they are declared. */
export function actionsWith<Shape extends z.ZodRawShape>(_fields: Shape) {
  type Input = Partial<InputOf<Shape>>;
  return <Needed extends keyof Input = never>(
    action: ActionOf<InputWith<Input, Needed>, keyof Input, Needed>,
  ): ToolAction => action as unknown as ToolAction;
}
