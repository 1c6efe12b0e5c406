import { canonicalJson, hashOf, isPlainObject, type Json, toJson } from '../core/json.ts';
import { redactStored } from '../core/redact.ts';
import type { EffectKind } from '../effects/effects.ts';

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

export interface NumberedRequest {
  readonly kind: EffectKind;
  readonly request: Json;
  readonly hash: string;
  readonly occurrence: number;
}

/**
 * Identifies requests in the same way when recording and replaying: by their redacted content and their index among
 * equal ones.
 */
export class RequestNumbers {
  readonly #seen = new Map<string, number>();

  number(kind: EffectKind, asked: unknown): NumberedRequest {
    const request = storable(asked);
    const hash = hashOf(request);
    const key = `${kind} ${hash}`;
    const occurrence = this.#seen.get(key) ?? 0;
    this.#seen.set(key, occurrence + 1);
    return { kind, request, hash, occurrence };
  }
}

export function storable(value: unknown): Json {
  return redactStored(toJson(value, Number.POSITIVE_INFINITY));
}
