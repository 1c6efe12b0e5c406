import { z } from 'zod';
import { spend } from '../decisions/step-meter.ts';
import { unpacked } from './json-text.ts';

/** Names joined by dots, such as `customer.emails.0`; numbers are list indexes. */
export const DotPath = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'must be a name, or names joined by dots, like "customer.email"');

/** Returns the value at a path, or undefined. Reads own properties only; JSON text along the path is parsed. */
export function valueAt(root: unknown, path: string): unknown {
  let here = root;
  for (const key of path.split('.')) {
    here = unpacked(here);
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as Record<string, unknown>)[key];
  }
  return here;
}

/** Maximum number of strings collected, and of values visited. */
const MAX_TEXTS = 10_000;
const MAX_VALUES = 1_000_000;

export interface Texts {
  readonly texts: readonly string[];
  /** False if a maximum was reached, so that a string may be missing. */
  readonly whole: boolean;
}

/**
 * Collects every string in a value at any depth. Visits each object once, including circular ones, and spends one step
 * per value.
 */
export function textsIn(root: unknown): Texts {
  const texts: string[] = [];
  const seen = new Set<object>();
  const waiting: unknown[] = [root];
  for (let values = 0; waiting.length > 0; values++) {
    const value = waiting.pop();
    if (values >= MAX_VALUES || (typeof value === 'string' && texts.length >= MAX_TEXTS))
      return { texts, whole: false };
    if (typeof value === 'string') texts.push(value);
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    const inside = Object.values(value);
    spend(inside.length);
    for (let index = inside.length - 1; index >= 0; index--) waiting.push(inside[index]);
  }
  return { texts, whole: true };
}
