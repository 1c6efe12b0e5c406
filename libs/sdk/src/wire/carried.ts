import { MOST_DEPTH } from './safe-json.ts';

/**
 * What JSON makes of a value. `as_it_is`: exactly the value. `rewritten`: something else that says the same, like the text
 * of a date. `in_part`: some of it is replaced or lost, like what a map holds or what is nested too deep.
 */
export type Carried = 'as_it_is' | 'rewritten' | 'in_part';

/** Of the depth that a question itself has around a content of a call. */
const AROUND = 2;
/** More values than this are not looked at. */
const MOST_VALUES = 100_000;

export function carried(value: unknown): Carried {
  return new Look().at(value, 0);
}

class Look {
  readonly #above = new Set<object>();
  #left = MOST_VALUES;

  at(value: unknown, depth: number): Carried {
    if (--this.#left < 0) return 'in_part';
    if (typeof value === 'number') return Number.isFinite(value) ? 'as_it_is' : 'in_part';
    if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol') return 'rewritten';
    if (typeof value !== 'object' || value === null) return 'as_it_is';
    if (depth + AROUND >= MOST_DEPTH || this.#above.has(value)) return 'in_part';
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

/** What such an object holds is in no member of it. */
function holdsUnseen(value: object): boolean {
  return value instanceof Map || value instanceof Set || value instanceof ArrayBuffer || value instanceof Error;
}

/** A list, or an object whose prototype, if any, is at the root: also one of another realm. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
