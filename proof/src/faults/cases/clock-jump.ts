import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Fault } from '../fault.ts';
import { underLoad } from './under-load.ts';

const HOUR_MS = 3_600_000;
const PRELOAD = new URL('../preload/shifted-clock.ts', import.meta.url).href;

const clockJump: Fault = {
  id: 'F-29',
  title: 'the clock of the evaluator jumps an hour ahead, then an hour behind',
  async run(lab) {
    const folder = await mkdtemp(join(tmpdir(), 'agentlens-clock-'));
    const file = join(folder, 'shift');
    await writeFile(file, '0');
    const env = { PROOF_CLOCK_FILE: file };
    try {
      const site = await lab.freshSite({
        nodeOptions: ['--import', PRELOAD],
        serviceEnv: { 'guardrail-evaluator': env },
      });
      // The oracle is exact: windows use the time of arrival, so a jump must neither cause nor suppress a trigger.
      await underLoad(lab, site, {
        load: { eventsPerSecond: 1_000, seconds: 16, errorShare: 0.1 },
        faults: async () => {
          for (const shift of [HOUR_MS, -HOUR_MS, 0]) {
            await lab.sleep(4_000);
            await writeFile(file, String(shift));
            lab.note(`the evaluator's clock is off by ${shift / HOUR_MS} h`);
          }
        },
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

export const CLOCK_JUMP = [clockJump];
