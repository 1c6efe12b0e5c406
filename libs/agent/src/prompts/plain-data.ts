import type { Json } from '../core/json.ts';

export type PlainData = { [key: string]: unknown };

/**
 * Parameters as plain data: copies without prototypes, so that no template reaches a constructor, and without
 * functions, which some engines would call.
 */
export function plainData(params: Readonly<Record<string, Json>>): PlainData {
  // The JSON round trip removes everything that is not JSON.
  return copy(JSON.parse(JSON.stringify(params))) as PlainData;
}

function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (typeof value !== 'object' || value === null) return value;
  const plain: PlainData = Object.create(null) as PlainData;
  for (const [key, member] of Object.entries(value)) plain[key] = copy(member);
  return plain;
}
