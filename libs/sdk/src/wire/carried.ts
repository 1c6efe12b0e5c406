import { MAX_DEPTH_LEVELS } from './safe-json.ts';

/**
 * What JSON keeps of a value. `as_it_is`: exactly the value. `rewritten`: an equivalent form, such as a date's text.
 * `in_part`: some of it is replaced or lost, such as a map's entries or content nested too deeply.
 */
export type Carried = 'as_it_is' | 'rewritten' | 'in_part';

/** Levels that a question adds around a call's content. */
const AROUND = 2;
/** Values inspected at most. */
const MAX_VALUES = 100_000;

export function carried(value: unknown): Carried {
  return new Inspection().at(value, 0);
}

class Inspection {
  readonly #above = new Set<object>();
  #left = MAX_VALUES;

  at(value: unknown, depth: number): Carried {
    if (--this.#left < 0) return 'in_part';
    if (typeof value === 'number') return Number.isFinite(value) ? 'as_it_is' : 'in_part';
    if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol') return 'rewritten';
    if (typeof value !== 'object' || value === null) return 'as_it_is';
    if (depth + AROUND >= MAX_DEPTH_LEVELS || this.#above.has(value)) return 'in_part';
    this.#above.add(value);
    try {
      return this.#inside(value, depth + 1);
    } catch {
      return 'in_part';
    } finally {
      this.#above.delete(value);
    }
  }

  #inside(value: object, depth: number): Carried {
    const own: unknown = (value as { readonly toJSON?: unknown }).toJSON;
    if (typeof own === 'function') return this.at(own.call(value), depth) === 'in_part' ? 'in_part' : 'rewritten';
    if (holdsUnseen(value)) return 'in_part';
    let worst: Carried = isPlain(value) ? 'as_it_is' : 'rewritten';
    for (const inner of Object.values(value)) {
      const one = this.at(inner, depth);
      if (one === 'in_part') return one;
      if (one === 'rewritten') worst = one;
    }
    return worst;
  }
}

/** Objects whose content is not in their members. */
function holdsUnseen(value: object): boolean {
  return value instanceof Map || value instanceof Set || value instanceof ArrayBuffer || value instanceof Error;
}

/** A list, or an object with a root prototype or none, also from another realm. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
