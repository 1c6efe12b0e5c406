import { z } from 'zod';

/** `customer.emails.0`: names joined by dots; numbers are places in lists. */
export const DotPath = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'must be a name, or names joined by dots, like "customer.email"');

/** What stands at a path; undefined: nothing does. Own properties only. */
export function valueAt(root: unknown, path: string): unknown {
  let here = root;
  for (const key of path.split('.')) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as Record<string, unknown>)[key];
  }
  return here;
}

/** Most values looked at in one call; what comes after is not scanned. */
const MAX_LEAVES = 10_000;

/** Every text in a value, however deep, each once; a value that holds itself is walked once. */
export function stringLeaves(root: unknown): string[] {
  const leaves: string[] = [];
  const seen = new Set<object>();
  const waiting: unknown[] = [root];
  for (let steps = 0; waiting.length > 0 && steps < MAX_LEAVES; steps++) {
    const value = waiting.pop();
    if (typeof value === 'string') leaves.push(value);
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    waiting.push(...Object.values(value).reverse());
  }
  return leaves;
}
