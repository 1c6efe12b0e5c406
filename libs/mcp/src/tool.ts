import type { Scope } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import type { FoundData } from './answer.ts';
import { type McpSession, permits } from './session.ts';

type InputOf<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;

type InputWith<Input, Needed extends keyof Input> = Input & { readonly [K in Needed]-?: NonNullable<Input[K]> };

/** What to confirm before an action. */
export interface Confirmation {
  /** The exact effect, for the person who confirms. */
  readonly question: string;
  /** Only a person may confirm, asked by the client. Absent: clients that cannot ask may pass the code of the question as `confirm`. */
  readonly onlyAsked?: { readonly path: string };
}

/** Input and behaviour of one action. */
interface ActionOf<Given, Field, Needed extends Field = Field> {
  /** Required scope; an action that needs more than `read` changes something. */
  readonly scope: Scope;
  /** Required fields. */
  readonly needs?: readonly Needed[];
  /** Optional fields. */
  readonly takes?: readonly Field[];
  /** Confirmation needed first, if any. */
  readonly confirm?: (session: McpSession, input: Given) => Promise<Confirmation | undefined>;
  readonly run: (session: McpSession, input: Given) => Promise<FoundData>;
}

export interface ToolInput {
  readonly [field: string]: unknown;
}

export type ToolAction = ActionOf<ToolInput, string>;

/** A tool: a flat set of fields, and actions that each take some of them. The first action is the default. */
export interface McpTool {
  /** Without the prefix. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly fields: Readonly<Record<string, z.ZodType>>;
  readonly actions: Readonly<Record<string, ToolAction>>;
}

/** Types actions of a tool with these fields: `run` receives its required fields as declared. */
export function actionsWith<Shape extends z.ZodRawShape>(_fields: Shape) {
  type Input = Partial<InputOf<Shape>>;
  return <Needed extends keyof Input = never>(
    action: ActionOf<InputWith<Input, Needed>, keyof Input, Needed>,
  ): ToolAction => action as unknown as ToolAction;
}

/** Fields shared by all tools. The platform limits text lengths. */

export const id = z.string();
/** A comma-separated list, as in the API's query: `failed,lost`. */
export const words = z.string();
export const reason = z.string();
const instant = z.string().describe('RFC 3339');

export const AGENT = { agentId: id };
export const RUN = { runId: id };
export const RULE = { ruleId: id };
export const RANGE = { from: instant, to: instant };
export const PAGE = { limit: z.int().min(1).max(50), cursor: z.string() };
export const DETAIL = { detail: z.enum(['summary', 'full']) };

/** Default number of items in a list. */
export const USUAL_LIMIT = 20;

/** A tool as available to one key: the allowed actions and their fields. */
export interface PermittedTool {
  readonly definition: McpTool;
  readonly actions: ReadonlyMap<string, ToolAction>;
  readonly input: z.ZodObject;
  /** True if no action changes anything. */
  readonly readsOnly: boolean;
}

/** `undefined` if the key may use none of its actions. */
export function permittedTool(definition: McpTool, scopes: readonly Scope[]): PermittedTool | undefined {
  const actions = new Map(Object.entries(definition.actions).filter(([, { scope }]) => permits(scopes, scope)));
  if (actions.size === 0) return undefined;
  const readsOnly = [...actions.values()].every(({ scope }) => scope === 'read');
  return { definition, actions, input: inputOf(definition, actions), readsOnly };
}

/** Describes missing or unexpected fields of an action; `undefined` if the input is valid. */
export function inputProblem(name: string, action: ToolAction, input: ToolInput): string | undefined {
  const { needs = [], takes = [] } = action;
  const missing = needs.filter((field) => input[field] === undefined);
  if (missing.length > 0) return `"${name}" needs ${missing.join(' and ')}. Example: ${exampleOf(name, needs)}`;
  const known = fieldsOf(action);
  const stray = Object.keys(input).filter((field) => input[field] !== undefined && !known.includes(field));
  if (stray.length === 0) return undefined;
  const own = [...needs, ...takes].join(', ');
  return `"${name}" does not take ${stray.join(', ')}. It takes ${own === '' ? 'no fields' : own}.`;
}

const Code = z
  .string({ error: 'must be the code that the question came with' })
  .describe('code of the question, if the user agreed');

/** Every field that an action accepts. */
function fieldsOf({ needs = [], takes = [], confirm }: ToolAction): readonly string[] {
  return ['action', ...needs, ...takes, ...Object.keys(DETAIL), ...(confirm === undefined ? [] : ['confirm'])];
}

const EXAMPLES: Readonly<Record<string, unknown>> = {
  scope: 'agent',
  id: 'support-bot',
  agentId: 'support-bot',
  rule: {
    name: 'Shell commands',
    conditionType: 'tool_name',
    conditionConfig: { value: 'shell*' },
    actionType: 'block',
    actionConfig: {},
  },
  budget: { name: 'Team', scope: 'tenant', period: 'day', limitUsd: 20 },
};

function exampleOf(action: string, needs: readonly string[]): string {
  return JSON.stringify({
    action,
    ...Object.fromEntries(needs.map((field) => [field, EXAMPLES[field] ?? `<${field}>`])),
  });
}

/** Flat, because some clients reject unions: the description of the tool says which action accepts which fields. */
function inputOf(definition: McpTool, actions: ReadonlyMap<string, ToolAction>): z.ZodObject {
  const taken = new Set([...actions.values()].flatMap(fieldsOf));
  const fields = Object.entries({ ...definition.fields, ...DETAIL, confirm: Code }).filter(([name]) => taken.has(name));
  return z.strictObject({
    ...(Object.keys(definition.actions).length > 1 ? { action: actionField(definition, [...actions.keys()]) } : {}),
    ...Object.fromEntries(fields.map(([name, field]) => [name, field.optional()])),
  });
}

function actionField({ actions }: McpTool, names: readonly string[]) {
  const [first = '', ...others] = names;
  const error = ({ input }: { readonly input?: unknown }) => {
    const denied = typeof input === 'string' ? actions[input] : undefined;
    if (denied === undefined) return `must be one of ${names.join(', ')}`;
    const beside = denied.scope === 'review' ? ' and without "ingest" and "decide"' : '';
    return `"${String(input)}" needs a key with the scope "${denied.scope}"${beside}; this key may ${names.join(', ')}`;
  };
  return z.enum([first, ...others], { error }).default(first);
}
