import { hasAtMostUnits, type JsonObject } from '@agentlens/contracts';
import type { Attributes } from './span.ts';

/** Returns the first of these attributes that is a non-empty string. */
export function firstText(attributes: Attributes, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = attributes.get(name);
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}

/** Returns the first of these attributes that is present, of any type. */
export function firstValue(attributes: Attributes, names: readonly string[]): unknown {
  for (const name of names) {
    const value = attributes.get(name);
    if (value !== undefined && value !== null && value !== '') return value;
  }
  return undefined;
}

/** Maximum nesting of parsed JSON text, because values are processed recursively. */
const MAX_LEVELS = 200;

/** JSON text beyond these limits stays text: a span has many attributes, and all are read in one step. */
const MAX_PACKED_CHARS = 4_000_000;
const MAX_PACKED_UNITS = 50_000;

/** Parses JSON text. Returns anything else, and text that nests too deeply, unchanged. */
export function unpacked(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{"]/.test(value)) return value;
  if (value.length > MAX_PACKED_CHARS || !hasAtMostUnits(value, MAX_PACKED_UNITS)) return value;
  try {
    const parsed: unknown = JSON.parse(value);
    return isShallow(parsed, MAX_LEVELS) ? parsed : value;
  } catch {
    return value;
  }
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1));
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns an attribute that is an object, or JSON text of one. */
export function objectAt(attributes: Attributes, name: string): JsonObject {
  const value = unpacked(attributes.get(name));
  return isObject(value) ? value : {};
}

/** Returns the members of an object that are neither null nor undefined. */
export function present(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null));
}
