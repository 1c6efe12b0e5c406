import { RefusedCall } from '../refused-call.ts';

const MAX_CALLS = 5_000;
const MAX_CALLS_OF_TENANT = 1_000;
const MAX_BYTES = 1024 * 1024 * 1024;
const MAX_BYTES_OF_TENANT = 256 * 1024 * 1024;

interface Held {
  calls: number;
  bytes: number;
}

/** An open call, and the room that its body takes. */
export interface OpenCall {
  /** The body has so many bytes by now, or after decompression. It never shrinks. @throws RefusedCall */
  hold(bytes: number): void;
  release(): void;
}

/** Limits how many calls are open, and how much of their bodies is in memory. */
export class CallLimits {
  readonly #tenants = new Map<string, Held>();
  readonly #all: Held = { calls: 0, bytes: 0 };

  get open(): number {
    return this.#all.calls;
  }

  /** @throws RefusedCall */
  take(tenantId: string, bytes: number): OpenCall {
    const own = this.#tenants.get(tenantId) ?? { calls: 0, bytes: 0 };
    if (own.calls >= MAX_CALLS_OF_TENANT || this.#all.calls >= MAX_CALLS) throw busy();
    this.#hold(own, bytes);
    this.#tenants.set(tenantId, own);
    for (const held of [own, this.#all]) held.calls += 1;
    let heldBytes = bytes;
    let isHeld = true;
    return {
      hold: (now) => {
        if (!isHeld || now <= heldBytes) return;
        this.#hold(own, now - heldBytes);
        heldBytes = now;
      },
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        for (const held of [own, this.#all]) {
          held.calls -= 1;
          held.bytes -= heldBytes;
        }
        if (own.calls === 0) this.#tenants.delete(tenantId);
      },
    };
  }

  /** @throws RefusedCall */
  #hold(own: Held, bytes: number): void {
    if (own.bytes + bytes > MAX_BYTES_OF_TENANT || this.#all.bytes + bytes > MAX_BYTES) throw busy();
    for (const held of [own, this.#all]) held.bytes += bytes;
  }
}

function busy(): RefusedCall {
  const message = 'Too many model calls are open at this gateway. Send the request again when others have ended.';
  return new RefusedCall('rate_limited', 'too_many_open_calls', message);
}
