import type { ProblemDetail } from '@agentlens/contracts';
import type { z } from 'zod';
import { jsonSchemaOf } from '../catalog/catalog.ts';
import { unknownName } from '../catalog/nearest-name.ts';

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

function said(message: string): string {
  const missing = /^Invalid input: expected (.+), received undefined$/.exec(message);
  return missing === null ? message : `is required, give a ${missing[1]}`;
}

function knownKeys(schema: Record<string, unknown>, path: readonly PropertyKey[]): string[] {
  let here: unknown = schema;
  for (const key of path) here = property(property(here, 'properties'), String(key));
  const properties = property(here, 'properties');
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
}

function property(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}
