import { hashOf } from '../core/canonical.ts';
import { type Json, toJson } from '../core/json.ts';
import { redactStored } from '../core/redact.ts';
import type { EffectKind } from '../effects/effects.ts';

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
