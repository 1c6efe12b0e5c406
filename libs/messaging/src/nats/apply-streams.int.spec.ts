import { STREAMS } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { type BusLogger, SILENT } from '../event-bus.ts';
import { applyStreams } from './apply-streams.ts';
import { natsPerTest } from './nats-per-test.testing.ts';

describe('streams', () => {
  const { manager } = natsPerTest();

  function listening(): { logger: BusLogger; warnings: object[] } {
    const warnings: object[] = [];
    return { logger: { ...SILENT, warn: (fields) => warnings.push(fields) }, warnings };
  }

  it('are created from the catalog by concurrent and repeated starts', async () => {
    const api = await manager();
    await Promise.all([applyStreams(api, SILENT), applyStreams(api, SILENT), applyStreams(api, SILENT)]);
    const before = await api.streams.info('AGENT_EVENTS');
    await applyStreams(api, SILENT);
    const after = await api.streams.info('AGENT_EVENTS');
    expect(after.config).toEqual(before.config);
    expect(after.created).toBe(before.created);
    expect(after.config).toMatchObject({
      subjects: ['agent.events.>'],
      storage: 'file',
      retention: 'limits',
      discard: 'new',
      max_age: 72 * 3_600 * 1e9,
      duplicate_window: 600 * 1e9,
      max_msgs_per_subject: -1,
    });
    expect((await api.streams.info('CONTROL')).config).toMatchObject({ max_msgs_per_subject: 1, max_age: 0 });
  });

  it('are updated when the catalog changes', async () => {
    const api = await manager();
    await applyStreams(api, SILENT);
    await applyStreams(api, SILENT, { streams: [{ ...STREAMS.GUARDRAILS, maxAgeMs: 3_600_000 }] });
    expect((await api.streams.info('GUARDRAILS')).config.max_age).toBe(3_600 * 1e9);
  });

  it('are created smaller, with a warning, if the disk has no room', async () => {
    const api = await manager();
    const { logger, warnings } = listening();
    const spec = { ...STREAMS.GUARDRAILS, maxBytes: 2 ** 50 };
    await applyStreams(api, logger, { streams: [spec] });
    const { max_bytes } = (await api.streams.info('GUARDRAILS')).config;
    expect(max_bytes).toBeLessThan(spec.maxBytes);
    expect(warnings.at(-1)).toMatchObject({
      stream: 'GUARDRAILS',
      differences: [{ field: 'max_bytes', asked: spec.maxBytes, applied: max_bytes }],
    });
  });
});
