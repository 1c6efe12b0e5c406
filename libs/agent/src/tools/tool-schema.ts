import { isStandardSchema, type JsonSchema, type OutputSchema } from '@agentlens/sdk';
import { AgentError } from '../core/agent-error.ts';
import { isPlainObject } from '../core/json.ts';

export type ToolInputSchema<I> = OutputSchema<I>;

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
