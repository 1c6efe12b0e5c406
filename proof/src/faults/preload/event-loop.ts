import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

// Loaded into Node with --import by the soak. Writes the event loop delay while the process runs.

const RESOLUTION_MS = 10;
const EVERY_MS = 5_000;
const NANOS_PER_MS = 1e6;

const file = process.env.PROOF_EVENT_LOOP_FILE;
if (file !== undefined) {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  setInterval(() => {
    // The histogram counts the pause between two readings as delay.
    const p99Ms = Math.max(0, delays.percentile(99) / NANOS_PER_MS - RESOLUTION_MS);
    writeFileSync(file, JSON.stringify({ p99Ms }));
  }, EVERY_MS).unref();
}
