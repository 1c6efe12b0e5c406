import { type ProblemDetail, plainMessage, unknownName } from '@agentlens/contracts';
import type { z } from 'zod';
import { jsonSchemaOf } from '../catalog/catalog.ts';

/**
 * Converts schema errors into problem details with paths below `prefix`. Suggests the nearest key for an unknown one.
 */
export function problemsOf(
  schema: z.ZodType,
  error: z.core.$ZodError,
  prefix: readonly PropertyKey[] = [],
): ProblemDetail[] {
  return error.issues.slice(0, 20).flatMap((issue) => {
    const path = [...prefix, ...issue.path].map(String);
    if (issue.code !== 'unrecognized_keys') return [{ path: path.join('.'), message: plainMessage(issue.message) }];
    const known = knownKeys(jsonSchemaOf(schema), issue.path);
    return issue.keys
      .slice(0, 20)
      .map((key) => ({ path: [...path, key].join('.'), message: unknownName('key', key, known) }));
  });
}

/** Returns the keys that the schema allows at a path, through objects, lists and alternatives. */
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
