import type { ContextStore, RuntimeClock } from './runtime.ts';

/** The process-wide store with this name, regardless of which copy of the package created it. */
export function sharedContext(name: string, make: () => ContextStore): ContextStore {
  const shared = globalThis as { [key: symbol]: ContextStore | undefined };
  const key = Symbol.for(name);
  shared[key] ??= make();
  return shared[key];
}

interface Unrefable {
  unref?(): void;
}

export const systemClock: RuntimeClock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  timer(run, ms, holding = false) {
    const timer = setTimeout(run, ms);
    if (!holding) (timer as unknown as Unrefable).unref?.();
    return () => clearTimeout(timer);
  },
};

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const POOL_BYTES = 8192;
const ID_BYTES = 10;

/**
 * Creates time-ordered ids (RFC 9562 UUIDv7). Randomness is drawn in blocks, because every event needs an id before it
 * is enqueued.
 */
export function idSource(): (nowMs: number) => string {
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  return (nowMs) => {
    if (used + ID_BYTES > POOL_BYTES) {
      crypto.getRandomValues(pool);
      used = 0;
    }
    const at = used;
    used += ID_BYTES;
    const hex = (offset: number) => HEX[pool[at + offset] ?? 0] ?? '00';
    const variant = HEX[((pool[at + 2] ?? 0) & 0x3f) | 0x80] ?? '80';
    const version = (((pool[at] ?? 0) & 0x0f) | 0x70).toString(16);
    const time = Math.max(0, Math.floor(nowMs));
    const head = `${word(time / 0x100000000)}${word(time / 0x10000)}-${word(time)}`;
    return `${head}-${version}${hex(1)}-${variant}${hex(3)}-${hex(4)}${hex(5)}${hex(6)}${hex(7)}${hex(8)}${hex(9)}`;
  };
}

/** The lowest 16 bits as four hex digits. */
function word(value: number): string {
  const low = Math.floor(value) % 0x10000;
  return `${HEX[low >> 8] ?? '00'}${HEX[low & 0xff] ?? '00'}`;
}
