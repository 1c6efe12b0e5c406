import type { JsonObject } from '../../events.ts';
import { hasAtMostUnits } from '../../piecewise-json.ts';
import type { Attributes } from './span.ts';

/** The first of these that is a text with something in it. */
export function firstText(attributes: Attributes, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = attributes.get(name);
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}

/** The first of these that is there, whatever it is. */
export function firstValue(attributes: Attributes, names: readonly string[]): unknown {
  for (const name of names) {
    const value = attributes.get(name);
    if (value !== undefined && value !== null && value !== '') return value;
  }
  return undefined;
}

/** Values are walked by functions that call themselves; a text may stand for a deeper one than the stack has room for. */
const MOST_LEVELS = 200;

/** Longer or fuller JSON text stays text: a span has many attributes, and all are read in one step. */
const MAX_PACKED_CHARS = 4_000_000;
const MAX_PACKED_UNITS = 50_000;

/** What JSON text stands for; text that is no JSON or nests absurdly deep, and what is no text, as it is. */
export function unpacked(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{"]/.test(value)) return value;
  if (value.length > MAX_PACKED_CHARS || !hasAtMostUnits(value, MAX_PACKED_UNITS)) return value;
  try {
    const parsed: unknown = JSON.parse(value);
    return isShallow(parsed, MOST_LEVELS) ? parsed : value;
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

/** The object that this attribute is, or that its JSON text stands for. */
export function objectAt(attributes: Attributes, name: string): JsonObject {
  const value = unpacked(attributes.get(name));
  return isObject(value) ? value : {};
}

/** The members of an object that are there. */
export function present(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null));
}
