import { STREAMS } from '@agentlens/contracts';
import { until } from '../../harness/time.ts';
import { atLeast } from '../check.ts';
import type { Fault } from '../fault.ts';
import { recovered } from '../recovery.ts';
import { underLoad } from './under-load.ts';

const STREAM = STREAMS.AGENT_EVENTS.name;
const ROOM_BYTES = 2_000_000;
const ASKED = 30;
/** As many as one request of the load. A single event could still fit. */
const EVENTS = Array.from({ length: 50 }, () => ({
  ...{ sessionId: 'full', agentId: 'full', eventType: 'custom' },
  payload: { type: 'full', data: { note: 'x'.repeat(200) } },
}));

const streamFull: Fault = {
  id: 'F-17',
  title: 'the stream of events is full',
  async run(lab) {
    const site = await lab.site();
    const { manager } = site.streams;
    const { config, state } = await manager.streams.info(STREAM);
    let healedMs = 0;
    const refusals: number[] = [];
    try {
      await underLoad(lab, site, {
        load: { eventsPerSecond: 1_500, seconds: 600 },
        allowance: { statuses: ['429', '503'] },
        faults: async (load) => {
          await lab.sleep(2_000);
          const { bytes } = (await manager.streams.info(STREAM)).state;
          await manager.streams.update(STREAM, { max_bytes: bytes + ROOM_BYTES });
          lab.note(`the stream may grow by ${ROOM_BYTES} bytes from ${state.bytes}`);
          await until('a refusal', async () => ((await ask()).status === 503 ? true : undefined), 60_000);
          lab.note('the gateway rejects events');
          for (let i = 0; i < ASKED; i++) {
            const { status, ms } = await ask();
            if (status === 503 || status === 429) refusals.push(ms);
            await lab.sleep(50);
          }
          await manager.streams.update(STREAM, { max_bytes: config.max_bytes });
          healedMs = await recovered(site, load);
          lab.note(`space again: everything works after ${healedMs.toFixed(0)} ms`);
          load.running.stop();
        },
      });
    } finally {
      await manager.streams.update(STREAM, { max_bytes: config.max_bytes });
    }

    async function ask(): Promise<{ readonly status: number; readonly ms: number }> {
      const since = performance.now();
      const { status } = await site.post(site.stack.ingestUrl, '/api/events', { events: EVENTS });
      return { status, ms: performance.now() - since };
    }

    refusals.sort((a, b) => a - b);
    const median = refusals[Math.floor(refusals.length / 2)] ?? Number.NaN;
    lab.check(atLeast('rejected requests', ASKED / 2, refusals.length));
    lab.within('a refusal takes (median)', 50, median);
    lab.within('heals itself', 5_000, healedMs);
  },
};

export const STREAM_FULL = [streamFull];
