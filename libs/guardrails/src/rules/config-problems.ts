import { type ProblemDetail, unknownName } from '@agentlens/contracts';
import type { z } from 'zod';
import { jsonSchemaOf } from '../catalog/catalog.ts';

/** What a schema finds wrong, with paths below `prefix` and, for an unknown key, the nearest known one. */
export function problemsOf(
  schema: z.ZodType,
  error: z.core.$ZodError,
  prefix: readonly PropertyKey[] = [],
): ProblemDetail[] {
  return error.issues.slice(0, 20).flatMap((issue) => {
    const path = [...prefix, ...issue.path].map(String);
    if (issue.code !== 'unrecognized_keys') return [{ path: path.join('.'), message: said(issue.message) }];
    const known = knownKeys(jsonSchemaOf(schema), issue.path);
    return issue.keys
      .slice(0, 20)
      .map((key) => ({ path: [...path, key].join('.'), message: unknownName('key', key, known) }));
  });
}

/** What zod calls things, in the words of somebody who writes JSON. */
const WORDS: Readonly<Record<string, string>> = {
  record: 'a JSON object',
  object: 'a JSON object',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

function said(message: string): string {
  const [, expected, received] = /^Invalid input: expected (\w+), received (.+)$/.exec(message) ?? [];
  if (expected === undefined) return message;
  const wanted = WORDS[expected] ?? expected;
  if (received === 'undefined') return `is required, give ${wanted}`;
  return expected === 'int' && received === 'number' ? `must be ${wanted}` : `must be ${wanted}, not ${received}`;
}

/** The keys that are known at a path, by the schema: through objects, lists and alternatives. */
function knownKeys(schema: Record<string, unknown>, path: readonly PropertyKey[]): string[] {
  let here = alternatives(schema);
  for (const key of path) {
    here = here.flatMap((one) =>
      alternatives(property(property(one, 'properties'), String(key)) ?? property(one, 'items')),
    );
  }
  return [...new Set(here.flatMap((one) => Object.keys(property(one, 'properties') ?? {})))];
}

function alternatives(schema: unknown): unknown[] {
  const among = property(schema, 'anyOf') ?? property(schema, 'oneOf');
  return Array.isArray(among) ? among.flatMap(alternatives) : [schema];
}

function property(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}
