const SAMPLES = 4_000;
const WARM_UP = 500;

/**
 * Nanoseconds per call of a synchronous function, from the means of small batches, because a single call is shorter
 * than the clock's resolution. Batches of longer calls are smaller: on a busy machine the p99 of long samples measures
 * the scheduler. `empty` is the same loop around an empty function, measured in the same run.
 */
export function measure(name, work, batch = 50) {
  const empty = nanosecondsOf((n) => n, batch);
  const done = nanosecondsOf(work, batch);
  return line(name, done, empty);
}

/** Like `measure` for an async function; one call is one sample. */
export async function measureAsync(name, work) {
  const empty = await nanosecondsOfAsync(async (n) => n);
  const done = await nanosecondsOfAsync(work);
  return line(name, done, empty);
}

function line(name, done, empty) {
  const ratio = done.p50 / Math.max(empty.p50, 0.1);
  return { name, samples: SAMPLES, ns: done, emptyNs: empty, ratio };
}

function nanosecondsOf(work, batch) {
  const samples = [];
  let sink = 0;
  for (let sample = -WARM_UP; sample < SAMPLES; sample++) {
    const startedAt = process.hrtime.bigint();
    for (let n = 0; n < batch; n++) sink += work(n) === undefined ? 1 : 0;
    const took = Number(process.hrtime.bigint() - startedAt) / batch;
    if (sample >= 0) samples.push(took);
  }
  if (sink < 0) throw new Error('unreachable');
  return percentiles(samples);
}

async function nanosecondsOfAsync(work) {
  const samples = [];
  for (let sample = -WARM_UP; sample < SAMPLES; sample++) {
    const startedAt = process.hrtime.bigint();
    await work(sample);
    if (sample >= 0) samples.push(Number(process.hrtime.bigint() - startedAt));
  }
  return percentiles(samples);
}

function percentiles(samples) {
  samples.sort((a, b) => a - b);
  const at = (share) => samples[Math.min(samples.length - 1, Math.floor(samples.length * share))];
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: samples.at(-1) };
}

export function print(results) {
  for (const { name, ns, emptyNs, ratio } of results) {
    const us = (value) => (value / 1000).toFixed(3).padStart(9);
    console.log(
      `${name.padEnd(44)} p50 ${us(ns.p50)} µs  p99 ${us(ns.p99)} µs  empty ${us(emptyNs.p50)} µs  ×${ratio.toFixed(1)}`,
    );
  }
}
