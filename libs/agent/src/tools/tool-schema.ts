import type { JsonSchema, OutputIssue, StandardSchema } from '@agentlens/sdk';
import { type Schema, Validator } from '@cfworker/json-schema';
import { AgentError } from '../core/agent-error.ts';
import { isPlainObject } from '../core/json.ts';

export type ToolInputSchema<I> = StandardSchema<I> | JsonSchema;

export type ParsedInput<I> =
  | { readonly ok: true; readonly value: I }
  | { readonly ok: false; readonly issues: readonly OutputIssue[] };

const MOST_ISSUES = 10;
const OF_THE_WHOLE = new Set(['properties', 'items', 'prefixItems', 'allOf', '$ref']);

export function isStandardSchema<I>(schema: ToolInputSchema<I>): schema is StandardSchema<I> {
  return (typeof schema === 'object' || typeof schema === 'function') && '~standard' in schema;
}

/** Checks a tool's input. Compiled once per tool. */
export function inputParser<I>(schema: ToolInputSchema<I>): (input: unknown) => Promise<ParsedInput<I>> {
  if (isStandardSchema(schema)) return (input) => parseStandard(schema, input);
  const validator = new Validator(schema as Schema, '2020-12', false);
  return async (input) => {
    const { valid, errors } = validator.validate(input);
    // Checked against the very schema whose author says it describes I.
    if (valid) return { ok: true, value: input as I };
    const issues = errors
      .filter(({ keyword }) => !OF_THE_WHOLE.has(keyword))
      .slice(0, MOST_ISSUES)
      .map(({ instanceLocation, error }) => ({ path: dotted(instanceLocation), message: error }));
    return { ok: false, issues: issues.length > 0 ? issues : [{ path: '', message: 'does not match the schema' }] };
  };
}

async function parseStandard<I>(schema: StandardSchema<I>, input: unknown): Promise<ParsedInput<I>> {
  const result = await schema['~standard'].validate(input);
  if (result.issues === undefined) return { ok: true, value: result.value };
  const issues = result.issues.slice(0, MOST_ISSUES).map(({ path = [], message }) => ({
    path: path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.'),
    message,
  }));
  return { ok: false, issues };
}

function dotted(pointer: string): string {
  const parts = pointer.replace(/^#\/?/, '').split('/');
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')).join('.');
}

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
