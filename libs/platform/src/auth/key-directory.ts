import type { Caller } from './caller.ts';

/** What became of checking a key. */
export type KeyCheck =
  | { readonly kind: 'accepted'; readonly caller: Caller }
  | { readonly kind: 'refused'; readonly reason: 'malformed' | 'unknown' | 'revoked' | 'expired' }
  /** The key is not known here and cannot be looked up now: the platform's fault, not the caller's. */
  | { readonly kind: 'unavailable' };

/** Who a key belongs to. */
export interface KeyDirectory {
  check(key: string): Promise<KeyCheck>;
}
