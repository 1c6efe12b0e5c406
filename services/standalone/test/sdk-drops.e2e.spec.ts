import { AgentLens } from '@agentlens/sdk';
import { eventually, type RecordedMeters, recordMeters } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './support/client.ts';
import { startEmbedded } from './support/embedded.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';

const COUNTER = 'agentlens.ingest.client_events_dropped';

/** A server that accepts few events, and an agent that sends many. */
describe('events that an agent could not deliver', () => {
  let platform: PlatformUnderTest;
  let meters: RecordedMeters;
  beforeAll(async () => {
    meters = recordMeters();
    platform = await startEmbedded();
  });
  afterAll(async () => {
    await platform?.stop();
    meters.stop();
  });

  it('are all reported, including those of a batch that got a 429', async () => {
    const people = new Client(platform, (await platform.keyOf('drops', 'admin')).key);
    const made = await people.post('/api/keys', { name: 'slow', scopes: ['ingest', 'decide'], eventsPerSecond: 60 });
    const warnings: string[] = [];
    const client = await AgentLens.init({
      ...{ apiKey: made.body.key, baseUrl: platform.edges[0] ?? '', agent: { slug: 'flood' }, deadlineMs: 10_000 },
      sink: { maxQueue: 200, batchSize: 50, attempts: 1, flushMs: 50, maxInFlight: 4 },
      logger: { warn: (message) => warnings.push(message) },
    });
    const run = await client.startRun();
    for (let n = 0; n < 500; n++) run.record('note', { n });
    await client.drain(10_000);
    // What is left to report is sent as soon as the key has quota again.
    await eventually(async () => expect(await client.drain(1_000)).toBe(true), { timeoutMs: 20_000 });
    const { enqueued, delivered, dropped } = client.status.events;
    expect(warnings.join()).toContain('it failed 1 times (last: 429)');
    expect(dropped).toBeGreaterThan(300);
    expect(delivered + dropped).toBe(enqueued);
    await eventually(async () => {
      const { body } = await people.get(`/api/runs/${run.id}/events?limit=1000`);
      const reports = body.events.filter(({ eventType }: { eventType: string }) => eventType === 'sink.dropped');
      const reported = reports.reduce(
        (sum: number, { payload }: { payload: { count: number } }) => sum + payload.count,
        0,
      );
      expect([reported, meters.total(COUNTER)]).toEqual([dropped, dropped]);
    });
    await client.shutdown();
  });
});
