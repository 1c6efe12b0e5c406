/** Milliseconds of the machine's monotonic clock, which all its processes share, unlike `performance.now()`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000;
}
