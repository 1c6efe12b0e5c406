import { STREAMS } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { JetStreamApiError, type JetStreamManager, type StreamConfig } from '@nats-io/jetstream';
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

  it('are created smaller, with one warning, if the disk has no room', async () => {
    const api = await manager();
    const { logger, warnings } = listening();
    const streams = [STREAMS.GUARDRAILS, STREAMS.CONTROL].map((spec) => ({ ...spec, maxBytes: 2 ** 50 }));
    await applyStreams(api, logger, { streams });
    const { max_bytes: guardrails } = (await api.streams.info('GUARDRAILS')).config;
    const { max_bytes: control } = (await api.streams.info('CONTROL')).config;
    expect(Math.max(guardrails, control)).toBeLessThan(2 ** 50);
    expect(warnings).toEqual([
      {
        streams: {
          GUARDRAILS: { field: 'max_bytes', asked: 2 ** 50, applied: guardrails },
          CONTROL: { field: 'max_bytes', asked: 2 ** 50, applied: control },
        },
      },
    ]);
  });

  it.each([
    [
      'are created smaller if no server of a cluster has room',
      'no suitable peers for placement, insufficient storage',
      2,
    ],
    ['are not created while a cluster has no servers for them', 'no suitable peers for placement', 1],
  ])('%s', async (_, description, tries) => {
    const sizes: unknown[] = [];
    const add = async (config: Partial<StreamConfig>) => {
      sizes.push(config.max_bytes);
      if (sizes.length === 1) throw new JetStreamApiError({ code: 400, err_code: 10_005, description });
      return { config };
    };
    const info = () => Promise.reject(new JetStreamApiError({ code: 404, err_code: 10_059, description: 'not found' }));
    const cluster = { streams: { add, info } } as unknown as JetStreamManager;
    const applying = applyStreams(cluster, SILENT, { replicas: 3, streams: [STREAMS.GUARDRAILS] });
    const outcome = await applying.then(() => 'created', String);
    expect(outcome).toBe(tries === 1 ? `JetStreamApiError: ${description}` : 'created');
    expect(sizes).toEqual([STREAMS.GUARDRAILS.maxBytes, STREAMS.GUARDRAILS.maxBytes / 2].slice(0, tries));
  });
});
