/** Milliseconds of the machine's monotonic clock, the same for every process on it; `performance.now()` is not. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000;
}
