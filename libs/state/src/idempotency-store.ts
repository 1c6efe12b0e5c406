/** What the gateway remembers of a request that can be sent again. */
export interface IdempotentRequest {
  /** SHA-256 of the body: the same key with another body is a client's mistake. */
  readonly bodyHash: string;
  /** Arrival of the first attempt; retries are dated with it, so their events are the same events. */
  readonly receivedAtMs: number;
}

/** A request that is carried out once: what it asked, and what came of it. */
export interface OnceRequest {
  /** SHA-256 of all that the request says: another request under its key is a client's mistake. */
  readonly requestHash: string;
  readonly startedAtMs: number;
  /** Absent: it is being carried out, or was when its process ended. */
  readonly result?:
    | { readonly kind: 'answered' /** Sealed by who keeps it. */; readonly answer: string }
    | { readonly kind: 'unknown' };
}

export interface IdempotencyStore {
  /**
   * Remembers the request if the key is new, and answers what is now remembered under it. For 24 hours, in memory among
   * the latest requests only.
   */
  remember(tenantId: string, key: string, request: IdempotentRequest): Promise<IdempotentRequest>;
  /**
   * Takes the key for a request, for 24 hours (in memory among the latest requests only).
   * @returns null if nobody had it, so that the caller carries the request out; else what is kept under it.
   */
  begin(tenantId: string, key: string, request: OnceRequest): Promise<OnceRequest | null>;
  /** Keeps what came of a request under the key that it took. */
  finish(tenantId: string, key: string, request: OnceRequest): Promise<void>;
  /** Gives the key back: the request changed nothing. */
  release(tenantId: string, key: string): Promise<void>;
  /**
   * Remembers the content hash of client-made event ids, and answers the ids that are known with another content.
   * Best effort within the retention of the store, and in memory among the latest ids only.
   */
  conflicts(
    tenantId: string,
    events: readonly { readonly id: string; readonly hash: string }[],
  ): Promise<readonly string[]>;
}

/** Of a content's SHA-256: enough to tell two contents of one id apart. */
export function shortHash(hash: string): string {
  return hash.slice(0, 12);
}
