const BUSY_MS = 100;
/** From this contention on, what a build waits for decides about its cost, not its code. */
export const SCARCE = 1.5;

/** How long this process waits for a CPU: 1 if it never does, 2 if it waits as long as it computes. */
export function readContention(): number {
  const [startedAt, before] = [performance.now(), process.cpuUsage()];
  while (performance.now() - startedAt < BUSY_MS);
  const { user, system } = process.cpuUsage(before);
  return Math.max(1, ((performance.now() - startedAt) * 1_000) / Math.max(1, user + system));
}
