import { z } from 'zod';
import { spend } from '../decisions/step-meter.ts';
import { unpacked } from './json-text.ts';

/** `customer.emails.0`: names joined by dots; numbers are places in lists. */
export const DotPath = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'must be a name, or names joined by dots, like "customer.email"');

/** What stands at a path; undefined: nothing does. Own properties only; JSON text on the way is what it stands for. */
export function valueAt(root: unknown, path: string): unknown {
  let here = root;
  for (const key of path.split('.')) {
    here = unpacked(here);
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as Record<string, unknown>)[key];
  }
  return here;
}

/** Most texts looked through in one call, and most values on the way to them. */
const MOST_TEXTS = 10_000;
const MOST_VALUES = 1_000_000;

export interface Texts {
  readonly texts: readonly string[];
  /** False: there are more than these, and what is not found here may be in them. */
  readonly whole: boolean;
}

/** Every text in a value, however deep, each once; a value that holds itself is walked once. Costs a step for each value. */
export function textsIn(root: unknown): Texts {
  const texts: string[] = [];
  const seen = new Set<object>();
  const waiting: unknown[] = [root];
  for (let values = 0; waiting.length > 0; values++) {
    const value = waiting.pop();
    if (values >= MOST_VALUES || (typeof value === 'string' && texts.length >= MOST_TEXTS))
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
