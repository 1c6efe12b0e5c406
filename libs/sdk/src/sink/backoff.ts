/** Full jitter: between zero and the exponential bound, so that clients do not retry at the same time. */
export function backoffMs(attempt: number, random: () => number, baseMs: number, mostMs: number): number {
  return random() * Math.min(mostMs, baseMs * 2 ** Math.min(attempt, 30));
}

/** Parses seconds or a date as in HTTP; null if unusable. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - nowMs;
  return Number.isFinite(ms) && ms >= 0 ? Math.min(ms, 60_000) : null;
}
