import { type CheckedValue, isStandardSchema, type JsonSchema, type OutputSchema, schemaChecker } from '@agentlens/sdk';
import type { AgentContext } from '../core/agent-context.ts';
import { AgentError, type ErrorCode } from '../core/agent-error.ts';
import { isPlainObject, type Json } from '../core/json.ts';
import type { ToolInfo } from '../core/message.ts';

type ToolInputSchema<I> = OutputSchema<I>;

/**
 * JSON Schema of a tool's input for the model. A Standard Schema provides it if its library can (zod 4.2, arktype,
 * valibot's converter); otherwise the tool's author gives `jsonSchema`.
 *
 * @throws AgentError `invalid_config`
 */
export function jsonSchemaOf(schema: ToolInputSchema<unknown>, given?: JsonSchema): JsonSchema {
  if (given !== undefined) return given;
  if (!isStandardSchema(schema)) return schema;
  const standard: object = schema['~standard'];
  const converter = 'jsonSchema' in standard && isPlainObject(standard.jsonSchema) ? standard.jsonSchema.input : null;
  if (typeof converter !== 'function')
    throw new AgentError(
      'invalid_config',
      'this schema library cannot produce a JSON Schema: set `jsonSchema` on the tool',
    );
  const converted: unknown = converter({ target: 'draft-2020-12' });
  if (!isPlainObject(converted)) throw new AgentError('invalid_config', 'the schema has no valid JSON Schema');
  const { $schema: _version, ...rest } = converted;
  return rest;
}

/** Used by permission rules. Custom categories are allowed. */
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
  /** Returns a `ToolResult`, any value or a promise of one, or progress pieces with the result last. */
  execute(input: unknown, context: AgentContext): unknown;
  /** False: allowed if no rule matches. It never overrides a rule. Default true. */
  readonly requiresPermission?: boolean;
  /** The tool may run twice for one call: after a crash, or on a retry. */
  readonly idempotent?: boolean;
  /** Default 60 000. */
  readonly timeoutMs?: number;
  readonly retry?: RetryRule;
  /** The shell command that an input would run. */
  commandOf?(input: unknown): string | undefined;
  /** The files that an input would touch, relative to the host's root. */
  pathsOf?(input: unknown): readonly string[];
}

export interface ToolOptions<I> {
  readonly name: string;
  readonly description: string;
  readonly category?: ToolCategory;
  readonly input: ToolInputSchema<I>;
  /** For a Standard Schema whose library cannot provide it. */
  readonly jsonSchema?: JsonSchema;
  /** Returns a `ToolResult`, any value or a promise of one, or progress pieces with the result last. */
  execute(input: I, context: AgentContext): unknown;
  info?(input: I): Omit<ToolInfo, 'name'>;
  readonly requiresPermission?: boolean;
  readonly idempotent?: boolean;
  readonly timeoutMs?: number;
  readonly retry?: RetryRule;
  commandOf?(input: I): string | undefined;
  pathsOf?(input: I): readonly string[];
}

const MAX_SHOWN_CHARS = 200;

/** Creates a tool. Everything but `parse` receives checked inputs. */
export function tool<I>(options: ToolOptions<I>): Tool {
  const { name, description, category = 'execute', input: schema } = options;
  const definition: ToolDefinition = { name, description, inputSchema: jsonSchemaOf(schema, options.jsonSchema) };
  const { requiresPermission, idempotent, timeoutMs, retry } = options;
  // The pipeline parses before anything else sees an input; parse returns an I.
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
  return `${name} ${JSON.stringify(input)?.slice(0, MAX_SHOWN_CHARS) ?? ''}`;
}

/** One tool call as requested by a model or planner. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: Json;
  /** The model's text if it was not valid JSON. */
  readonly malformed?: string;
}

/** Result of one call. */
export interface ActionResult {
  readonly type: 'tool';
  readonly toolId: string;
  readonly toolUseId: string;
  readonly input: Json;
  readonly output: Json;
  readonly isError: boolean;
  readonly code?: ErrorCode;
  readonly durationMs: number;
}

/** Throw it if a retry may help: the pipeline retries idempotent tools, then the model receives the error. */
export class ToolRetryableError extends Error {
  override readonly name = 'ToolRetryableError';
}

/** Throw it if a retry does not help. Any other error is treated the same. */
export class ToolFailedError extends Error {
  override readonly name = 'ToolFailedError';
}

/** Throw it if the run must end. */
export class ToolFatalError extends Error {
  override readonly name = 'ToolFatalError';
}
