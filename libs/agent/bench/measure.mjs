/**
 * Alternates rounds of all variants, so that a busy moment affects all of them. Returns the median of each, in µs of
 * CPU time per iteration of `run`. Everything is single-threaded, and on a shared machine CPU time is more reliable
 * than the clock.
 */
export async function compare(variants, { rounds = 15, perRound = 200 } = {}) {
  const times = new Map(Object.keys(variants).map((name) => [name, []]));
  for (const run of Object.values(variants)) for (let warm = 0; warm < perRound; warm++) await run();
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(variants)) {
      const started = process.cpuUsage();
      for (let turn = 0; turn < perRound; turn++) await run();
      times.get(name).push(cpuMicrosSince(started) / perRound);
    }
    if (process.stderr.isTTY) process.stderr.write(`\rround ${round + 1} of ${rounds}`);
  }
  if (process.stderr.isTTY) process.stderr.write('\n');
  return Object.fromEntries(
    [...times].map(([name, all]) => [name, all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]]),
  );
}

/** CPU time since `started` (of `process.cpuUsage()`), µs. */
export function cpuMicrosSince(started) {
  const { user, system } = process.cpuUsage(started);
  return user + system;
}

export function table(rows) {
  console.table(
    Object.fromEntries(
      Object.entries(rows).map(([name, value]) => [name, typeof value === 'number' ? Number(value.toFixed(2)) : value]),
    ),
  );
}
