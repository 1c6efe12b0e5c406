import { RuleDraft } from '@agentlens/contracts';
import { describeCatalog, jsonSchemaOf } from '@agentlens/guardrails';
import { z } from 'zod';
import { FILE_FIELDS, FILE_VERSION } from './rule-file.ts';

type Json = Record<string, unknown>;

/** JSON Schema (2020-12) of a rule file for editors, generated from the rule schema and the catalogs. */
export function rulesSchema(): Json {
  const { conditions, actions } = describeCatalog();
  const rule = jsonSchemaOf(RuleDraft.extend(FILE_FIELDS)) as { properties: Record<string, Json>; required: string[] };
  const { properties, required } = rule;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'AgentLens rules',
    type: 'object',
    additionalProperties: false,
    required: ['apiVersion', 'ruleset', 'rules'],
    properties: {
      apiVersion: { const: FILE_VERSION },
      ruleset: withoutDialect(jsonSchemaOf(z.object({ name: FILE_FIELDS.key })).properties as Json).name,
      rules: { type: 'array', items: { $ref: '#/$defs/rule' } },
    },
    $defs: {
      rule: {
        type: 'object',
        additionalProperties: false,
        required,
        properties: {
          ...properties,
          conditionType: { enum: conditions.map(({ type }) => type) },
          actionType: { enum: actions.map(({ type }) => type) },
        },
        allOf: [...conditions.map((one) => choice('condition', one)), ...actions.map((one) => choice('action', one))],
      },
    },
  };
}

/** Schema of the config for one type. */
function choice(what: 'condition' | 'action', { type, title, description, schema }: CatalogEntry): Json {
  return {
    if: { properties: { [`${what}Type`]: { const: type } }, required: [`${what}Type`] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { [`${what}Config`]: { title, description, ...withoutDialect(schema) } } },
  };
}

interface CatalogEntry {
  readonly type: string;
  readonly title: string;
  readonly description: string;
  readonly schema: Json;
}

function withoutDialect({ $schema: _dialect, ...schema }: Json): Json {
  return schema;
}
