import { createLogger } from '@agentlens/platform';
import { createMemoryState } from '@agentlens/state';
import { describe, expect, it } from '@jest/globals';
import { memoryRecords } from '../decisions/decision-pipeline.testing.ts';
import { EvaluatorDropMetrics } from '../evaluator-metrics.ts';
import { RecordedLabels } from './recorded-labels.ts';

const cause = { runId: 'child', agentId: 'crm', toolName: 'read', atMs: 0 };
const line = { tenantId: 'acme', runIds: ['child', 'root'] } as const;
let nowMs = Date.parse('2026-03-01T12:00:00.000Z');

function labelsOn(records: ReturnType<typeof memoryRecords>, store = createMemoryState().labels) {
  const logger = createLogger({ name: 'test', level: 'silent' });
  return new RecordedLabels({ store, records, now: () => nowMs, logger, drops: new EvaluatorDropMetrics() });
}

describe('recorded labels', () => {
  it('stand again after the store lost them, and not if they were cleared', async () => {
    const records = memoryRecords();
    const before = labelsOn(records);
    await before.set(line, ['pii', 'web'], cause);
    await before.clear(line, ['web']);
    records.lines.set('root', []);
    expect(await labelsOn(records).read(line)).toEqual(new Map([['pii', cause]]));
  });

  it('are recorded before the source may continue, and only when they are new', async () => {
    const records = memoryRecords();
    const labels = labelsOn(records);
    await labels.set(line, ['pii'], cause);
    await labels.set(line, ['pii'], cause);
    expect(records.written).toEqual(['pii']);
  });

  it('are found after a loss by a run whose parent the gateway has forgotten', async () => {
    const records = memoryRecords();
    await labelsOn(records).set(line, ['pii'], cause);
    records.lines.set('sibling', ['root']);
    const after = labelsOn(records);
    expect(await after.read({ tenantId: 'acme', runIds: ['sibling'] })).toEqual(new Map([['pii', cause]]));
  });

  it('are unavailable for an unknown run until the events from before the loss are stored', async () => {
    const records = memoryRecords();
    await labelsOn(records).set(line, ['pii'], cause);
    const after = labelsOn(records);
    const unknown = { tenantId: 'acme', runIds: ['new'] } as const;
    await expect(after.read(unknown)).rejects.toThrow('the parents of the run are unknown');
    nowMs += 60_000;
    expect(await after.read(unknown)).toEqual(new Map());
  });

  it('are not looked up while the store has lost nothing', async () => {
    const records = memoryRecords();
    const labels = labelsOn(records);
    await labels.read(line);
    await labels.set(line, ['pii'], cause);
    expect(records.lookups).toBe(0);
  });

  it('are recorded later if the database is unavailable, and the source does not fail', async () => {
    const records = memoryRecords();
    const { record } = records;
    const away = Promise.withResolvers<void>();
    records.record = async () => {
      records.record = record;
      away.resolve();
      throw new Error('away');
    };
    const store = createMemoryState().labels;
    const labels = labelsOn(records, store);
    expect(await labels.set(line, ['pii'], cause)).toEqual([]);
    await away.promise;
    expect((await labels.read(line)).has('pii')).toBe(true);
    await labels.stop();
    expect(records.written).toEqual(['pii']);
  });

  it('fail if the store keeps nothing', async () => {
    const forgetful = {
      ...{ read: async () => 'lost' as const, set: async () => 'lost' as const },
      ...{ clear: async () => undefined, restore: async () => false, note: async () => undefined },
      compare: async () => ({ isComplete: false, found: [] }),
    };
    const records = memoryRecords();
    records.lines.set('root', []);
    await expect(labelsOn(records, forgetful).read(line)).rejects.toThrow('does not keep its data');
  });
});
