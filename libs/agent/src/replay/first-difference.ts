import { canonicalJson } from '../core/canonical.ts';
import { isPlainObject } from '../core/json.ts';

/** The first difference of two values as a JSON path such as `$.messages[2].content`; null if they are equal. */
export function firstDifference(a: unknown, b: unknown, path = '$'): string | null {
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let index = 0; index < Math.max(a.length, b.length); index++) {
      const found = firstDifference(a[index], b[index], `${path}[${index}]`);
      if (found !== null) return found;
    }
    return null;
  }
  if (isPlainObject(a) && isPlainObject(b)) {
    for (const key of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()) {
      const found = firstDifference(a[key], b[key], `${path}.${key}`);
      if (found !== null) return found;
    }
    return null;
  }
  return canonicalJson(a) === canonicalJson(b) ? null : path;
}
