import type { Fault, Lab } from '../fault.ts';
import type { Site } from '../site.ts';
import { underLoad } from './under-load.ts';

const KILLS = 5;
const SMOKE_KILLS = 2;
/** Acknowledgement wait of the evaluator: how long a batch is idle after its process died. */
const ACK_WAIT_MS = 5_000;
const EVENTS_PER_SECOND = 2_000;

/** Kills a service repeatedly. Returns the longest restart, ms. */
async function killing(lab: Lab, site: Site, name: string, apartMs: readonly [number, number]): Promise<number> {
  const service = site.stack.service(name);
  let longest = 0;
  await lab.sleep(1_500);
  for (let kill = 1; kill <= killsOf(lab); kill++) {
    await service.kill('SIGKILL');
    lab.note(`SIGKILL ${name}, ${kill} of ${killsOf(lab)}`);
    const ms = await service.start();
    longest = Math.max(longest, ms);
    lab.note(`${name} ready again after ${ms.toFixed(0)} ms`);
    await lab.sleep(lab.between(...apartMs));
  }
  return longest;
}

const killsOf = ({ smoke }: Lab) => (smoke ? SMOKE_KILLS : KILLS);

const ingest: Fault = {
  id: 'F-01',
  title: 'the gateway is killed under load',
  smoke: true,
  async run(lab) {
    const site = await lab.site();
    let restartMs = 0;
    const { report } = await underLoad(lab, site, {
      load: { eventsPerSecond: EVENTS_PER_SECOND, seconds: killsOf(lab) * 4 + 2 },
      faults: async () => {
        restartMs = await killing(lab, site, 'ingest', [1_000, 2_500]);
      },
    });
    lab.measure('longest restart', restartMs, 'ms');
    lab.within('stall of the client', restartMs + 1_000, report.longestStallMs);
  },
};

const store: Fault = {
  id: 'F-02',
  title: 'run-tracking is killed under load',
  smoke: true,
  async run(lab) {
    const site = await lab.site();
    let lastKillAt = 0;
    const { drainMs } = await underLoad(lab, site, {
      load: { eventsPerSecond: EVENTS_PER_SECOND, seconds: killsOf(lab) * 4 },
      faults: async () => {
        await killing(lab, site, 'run-tracking', [1_000, 2_500]);
        lastKillAt = performance.now();
      },
    });
    lab.measure('since the last kill', performance.now() - lastKillAt, 'ms');
    lab.within('drain', 5_000, drainMs);
  },
};

const evaluator: Fault = {
  id: 'F-03',
  title: 'the evaluator is killed under load',
  smoke: true,
  async run(lab) {
    const site = await lab.site();
    let restartMs = 0;
    const { worstTriggerMs, triggersTimed } = await underLoad(lab, site, {
      load: { eventsPerSecond: EVENTS_PER_SECOND, seconds: killsOf(lab) * 8 },
      faults: async () => {
        // Far enough apart that two kills do not hit the same batch, which would wait twice.
        restartMs = await killing(lab, site, 'guardrail-evaluator', [ACK_WAIT_MS + 1_000, ACK_WAIT_MS + 2_000]);
      },
    });
    // No trigger is possible before the process is back, even if the batch is redelivered sooner.
    lab.within('worst trigger', Math.max(ACK_WAIT_MS, restartMs) + 1_000, worstTriggerMs);
    lab.check(triggersTimed);
  },
};

export const KILLED_SERVICES = [ingest, store, evaluator];
