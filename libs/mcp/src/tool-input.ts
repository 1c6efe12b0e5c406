import type { Scope } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { DETAIL } from './fields.ts';
import { permits } from './mcp-session.ts';
import type { McpTool, ToolAction, ToolInput } from './tool.ts';

/** A tool as one key has it: the actions that its scopes allow, and the fields that these take. */
export interface PermittedTool {
  readonly definition: McpTool;
  readonly actions: ReadonlyMap<string, ToolAction>;
  readonly input: z.ZodObject;
  /** Nothing of it changes anything. */
  readonly readsOnly: boolean;
}

/** `undefined` where the key may do nothing of it. */
export function permittedTool(definition: McpTool, scopes: readonly Scope[]): PermittedTool | undefined {
  const actions = new Map(Object.entries(definition.actions).filter(([, { scope }]) => permits(scopes, scope)));
  if (actions.size === 0) return undefined;
  const readsOnly = [...actions.values()].every(({ scope }) => scope === 'read');
  return { definition, actions, input: inputOf(definition, actions), readsOnly };
}

/** What an action needs and does not have, or has and does not take; `undefined` where all is well. */
export function inputProblem(
  name: string,
  { needs = [], takes = [] }: ToolAction,
  input: ToolInput,
): string | undefined {
  const missing = needs.filter((field) => input[field] === undefined);
  if (missing.length > 0) return `"${name}" needs ${missing.join(' and ')}. Example: ${exampleOf(name, needs)}`;
  const known = [...needs, ...takes, ...GENERAL];
  const stray = Object.keys(input).filter((field) => input[field] !== undefined && !known.includes(field));
  if (stray.length === 0) return undefined;
  const own = [...needs, ...takes].join(', ');
  return `"${name}" does not take ${stray.join(', ')}. It takes ${own === '' ? 'no fields' : own}.`;
}

const GENERAL = ['action', 'confirm', ...Object.keys(DETAIL)];

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

function inputOf(definition: McpTool, actions: ReadonlyMap<string, ToolAction>): z.ZodObject {
  const taken = new Set([...actions.values()].flatMap(({ needs = [], takes = [] }) => [...needs, ...takes]));
  const fields = Object.entries(definition.fields).filter(([name]) => taken.has(name));
  const confirms = [...actions.values()].some(({ confirm }) => confirm !== undefined);
  return z.strictObject({
    ...(Object.keys(definition.actions).length > 1 ? { action: actionField(definition, [...actions.keys()]) } : {}),
    ...optional(Object.fromEntries(fields)),
    ...(fields.length > 0 ? optional(DETAIL) : {}),
    ...(confirms ? { confirm: z.boolean().optional().describe('the user agreed') } : {}),
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

function optional(fields: Readonly<Record<string, z.ZodType>>): Record<string, z.ZodType> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.optional()]));
}
