/** Text shrinks about so much; what a gzip really holds is known when it is inflated. */
const INFLATION = 8;

/** What a request says of its body. */
interface DeclaredBody {
  /** Undefined where it comes in chunks. */
  readonly bytes: number | undefined;
  readonly isCompressed: boolean;
}

/**
 * How much of one tenant's bodies is in memory at a time. They may be large, and are held whole while they are read: one
 * of them is always let in, more only as long as all together are no larger than one may be.
 */
export class BodyMemory {
  readonly #held = new Map<string, number>();

  constructor(private readonly mostBytes: number) {}

  /** Answers how to give it back; undefined where there is no room now. */
  take(tenantId: string, { bytes, isCompressed }: DeclaredBody): (() => void) | undefined {
    const expected = bytes === undefined ? this.mostBytes : bytes * (isCompressed ? INFLATION : 1);
    const cost = Math.min(this.mostBytes, expected);
    const held = this.#held.get(tenantId) ?? 0;
    if (held > 0 && held + cost > this.mostBytes) return undefined;
    this.#held.set(tenantId, held + cost);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.#held.get(tenantId) ?? 0) - cost;
      if (left > 0) this.#held.set(tenantId, left);
      else this.#held.delete(tenantId);
    };
  }
}
