import { type CheckedValue, isStandardSchema, type JsonSchema, type OutputSchema, schemaChecker } from '@agentlens/sdk';
import type { AgentContext } from '../core/agent-context.ts';
import { AgentError } from '../core/agent-error.ts';
import { isPlainObject } from '../core/json.ts';
import type { ToolInfo } from '../core/tool-result.ts';

type ToolInputSchema<I> = OutputSchema<I>;

/**
 * What the model sees of a schema. A Standard Schema says it itself where its library can (zod 4.2, arktype, valibot's
 * converter); else the tool's author gives `jsonSchema`.
 *
 * @throws AgentError `invalid_config`
 */
export function jsonSchemaOf(schema: ToolInputSchema<unknown>, given?: JsonSchema): JsonSchema {
  if (given !== undefined) return given;
  if (!isStandardSchema(schema)) return schema;
  const standard: object = schema['~standard'];
  const converter = 'jsonSchema' in standard && isPlainObject(standard.jsonSchema) ? standard.jsonSchema.input : null;
  if (typeof converter !== 'function')
    throw new AgentError('invalid_config', 'this schema library has no JSON Schema: give the tool `jsonSchema` too');
  const converted: unknown = converter({ target: 'draft-2020-12' });
  if (!isPlainObject(converted)) throw new AgentError('invalid_config', 'the schema has no JSON Schema');
  const { $schema: _version, ...rest } = converted;
  return rest;
}

/** For permission rules. Others than these are allowed. */
export type ToolCategory = 'read' | 'write' | 'execute' | 'network' | 'memory' | 'agent' | (string & {});

/** What the model sees of a tool. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

export interface RetryRule {
  readonly tries: number;
  /** First wait; doubled each time, with jitter. Default 200. */
  readonly minMs?: number;
  readonly maxMs?: number;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly category: ToolCategory;
  definition(): ToolDefinition;
  /** For the human who is asked. */
  getInfo(input: unknown): ToolInfo;
  parse(input: unknown): Promise<CheckedValue<unknown>>;
  /** Answers a `ToolResult`, any value or a promise of one, or pieces of progress with the result last. */
  execute(input: unknown, context: AgentContext): unknown;
  /** False: allowed where no rule says otherwise. It never beats a rule. Default true. */
  readonly requiresPermission?: boolean;
  /** It may run twice for one call: after a crash, or when it failed and can be retried. */
  readonly idempotent?: boolean;
  /** Default 60 000. */
  readonly timeoutMs?: number;
  readonly retry?: RetryRule;
  /** The shell command an input would run. */
  commandOf?(input: unknown): string | undefined;
  /** The files an input would touch, relative to the host's root. */
  pathsOf?(input: unknown): readonly string[];
}

export interface ToolOptions<I> {
  readonly name: string;
  readonly description: string;
  readonly category?: ToolCategory;
  readonly input: ToolInputSchema<I>;
  /** For a Standard Schema whose library cannot say it. */
  readonly jsonSchema?: JsonSchema;
  /** Answers a `ToolResult`, any value or a promise of one, or pieces of progress with the result last. */
  execute(input: I, context: AgentContext): unknown;
  info?(input: I): Omit<ToolInfo, 'name'>;
  readonly requiresPermission?: boolean;
  readonly idempotent?: boolean;
  readonly timeoutMs?: number;
  readonly retry?: RetryRule;
  commandOf?(input: I): string | undefined;
  pathsOf?(input: I): readonly string[];
}

const MOST_SHOWN = 200;

/** Makes a tool. Everything but `parse` gets inputs that were checked. */
export function tool<I>(options: ToolOptions<I>): Tool {
  const { name, description, category = 'execute', input: schema } = options;
  const definition: ToolDefinition = { name, description, inputSchema: jsonSchemaOf(schema, options.jsonSchema) };
  const { requiresPermission, idempotent, timeoutMs, retry } = options;
  // The pipeline parses before anything else sees an input; parse answers an I.
  const checked = (input: unknown) => input as I;
  return {
    ...{ name, description, category, requiresPermission, idempotent, timeoutMs, retry },
    definition: () => definition,
    parse: schemaChecker(schema),
    execute: (input, context) => options.execute(checked(input), context),
    getInfo: (input) => ({ name, ...(options.info?.(checked(input)) ?? { actionDescription: shown(name, input) }) }),
    ...(options.commandOf === undefined ? {} : { commandOf: (input: unknown) => options.commandOf?.(checked(input)) }),
    ...(options.pathsOf === undefined ? {} : { pathsOf: (input: unknown) => options.pathsOf?.(checked(input)) ?? [] }),
  };
}

function shown(name: string, input: unknown): string {
  return `${name} ${JSON.stringify(input)?.slice(0, MOST_SHOWN) ?? ''}`;
}
