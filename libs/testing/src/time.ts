const STEP_MS = 20;

/**
 * Repeats an assertion until it holds, for behavior that completes in its own time. The timeout only limits how long a
 * broken test hangs.
 */
export async function eventually<T>(assertion: () => T | Promise<T>, options: { timeoutMs?: number } = {}): Promise<T> {
  const deadline = performance.now() + (options.timeoutMs ?? 60_000);
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    }
  }
}

/** A clock that stands still until it is advanced. */
export interface FixedClock {
  now(): number;
  advance(ms: number): void;
  set(iso: string): void;
}

export function fixedClock(iso = '2026-03-01T12:00:00.000Z'): FixedClock {
  let now = Date.parse(iso);
  return {
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
    set: (at) => {
      now = Date.parse(at);
    },
  };
}
