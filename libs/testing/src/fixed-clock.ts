/** A clock that stands still until told otherwise. */
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
