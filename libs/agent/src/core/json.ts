import { createHash } from 'node:crypto';

/** A JSON value. Everything stored, recorded or sent has this type. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

export type Metadata = Readonly<Record<string, Json>>;

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Converts any value to JSON: circular references, functions and big integers are replaced by a marker, and a text
 * longer than `maxChars` is truncated. Tools and connectors can return any value; stored values are always JSON.
 */
export function toJson(value: unknown, maxChars = 100_000): Json {
  const seen: object[] = [];
  let left = maxChars;
  const take = (text: string): string => {
    if (text.length > left) {
      const kept = text.slice(0, Math.max(0, left));
      left = 0;
      return `${kept}… [cut: ${text.length} characters]`;
    }
    left -= text.length;
    return text;
  };
  const copy = (item: unknown): Json => {
    if (typeof item === 'string') return take(item);
    if (typeof item === 'number') return Number.isFinite(item) ? item : String(item);
    if (typeof item === 'boolean' || item === null) return item;
    if (item === undefined) return null;
    if (typeof item === 'bigint') return item.toString();
    if (typeof item === 'function' || typeof item === 'symbol') return `[${typeof item}]`;
    if (seen.includes(item)) return '[circular]';
    if (left <= 0) return '[cut]';
    if (item instanceof Date) return Number.isNaN(item.getTime()) ? 'Invalid Date' : item.toISOString();
    if (item instanceof Error) return { name: item.name, message: take(item.message) };
    if (ArrayBuffer.isView(item)) return `[${item.byteLength} bytes]`;
    seen.push(item);
    try {
      if (Array.isArray(item)) return copyList(item);
      if (item instanceof Map) return copyList([...item.entries()]);
      if (item instanceof Set) return copyList([...item]);
      return copyMembers(item);
    } finally {
      seen.pop();
    }
  };
  const copyList = (items: readonly unknown[]): Json => {
    const list: Json[] = [];
    for (const item of items) {
      left -= 2;
      if (left <= 0) {
        list.push(`[cut: ${items.length} items]`);
        break;
      }
      list.push(copy(item));
    }
    return list;
  };
  const copyMembers = (item: object): Json => {
    const members: Record<string, Json> = {};
    for (const [key, member] of Object.entries(item)) {
      if (member === undefined) continue;
      left -= key.length + 4;
      Object.defineProperty(members, key, {
        value: copy(member),
        enumerable: true,
        writable: true,
        configurable: true,
      });
      if (left <= 0) break;
    }
    return members;
  };
  return copy(value);
}

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
