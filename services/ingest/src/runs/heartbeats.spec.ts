import { type RunHeartbeats, runHeartbeats } from '@agentlens/contracts';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Heartbeats } from './heartbeats.ts';

const at = '2026-03-01T12:00:00.000Z';
const logger = createLogger({ name: 'heartbeats', level: 'silent' });
let bus: EventBus;
let sent: RunHeartbeats[];
let heartbeats: Heartbeats;
let dropped: [what: string, count: number][];

beforeEach(async () => {
  bus = createMemoryBus();
  sent = [];
  dropped = [];
  heartbeats = new Heartbeats(bus, { dropped: (what, count) => dropped.push([what, count]) }, logger);
  await bus.watch(runHeartbeats, { from: 'new' }, ({ value }) => sent.push(value));
});
afterEach(() => bus.close());

const beat = (runId: string, everyMs?: number) => ({ runId, agentId: 'bot', at, ...(everyMs && { everyMs }) });

describe('heartbeats', () => {
  it('are published as one message per tenant, with the last of each run', async () => {
    heartbeats.add('acme', beat('r1'));
    heartbeats.add('acme', beat('r1', 5_000));
    heartbeats.add('acme', beat('r2'));
    heartbeats.add('globex', beat('r1'));
    await heartbeats.drain();
    expect(sent).toEqual([
      { tenantId: 'acme', beats: [beat('r1', 5_000), beat('r2')] },
      { tenantId: 'globex', beats: [beat('r1')] },
    ]);
  });

  it('are split into messages that the broker accepts', async () => {
    for (let n = 0; n < 2_500; n++) heartbeats.add('acme', beat(`r${n}`));
    await heartbeats.drain();
    expect(sent.map(({ beats }) => beats.length)).toEqual([1_000, 1_000, 500]);
  });

  it('are counted if they could not be published', async () => {
    for (let n = 0; n < 1_200; n++) heartbeats.add('acme', beat(`r${n}`));
    await heartbeats.drain();
    bus.publish = async () => {
      throw new Error('away');
    };
    for (let n = 0; n < 1_200; n++) heartbeats.add('acme', beat(`r${n}`));
    await heartbeats.drain();
    expect(sent.flatMap(({ beats }) => beats)).toHaveLength(1_200);
    expect(dropped).toEqual([
      ['heartbeat', 1_000],
      ['heartbeat', 200],
    ]);
  });

  it('publish nothing if there are no runs', async () => {
    await heartbeats.drain();
    expect(sent).toEqual([]);
  });
});
