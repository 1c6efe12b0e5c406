import { createHash } from 'node:crypto';
import { isPlainObject } from './json.ts';

/** JSON with sorted keys: equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value)) ?? 'null';
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isPlainObject(value)) return value;
  const pairs = Object.entries(value).filter(([, member]) => member !== undefined);
  pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(pairs.map(([key, member]) => [key, sorted(member)]));
}

/** SHA-256 of the canonical JSON, as 64 hex digits. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** Binds a permission answer to one tool with one input. */
export function inputHashOf(toolName: string, input: unknown): string {
  return hashOf([toolName, input]).slice(0, 32);
}
