import type { BreakerChanged } from '@agentlens/contracts';
import { createLogger } from '@agentlens/platform';
import { eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { BreakerRecorder, type RecordedChange } from './breaker-recorder.ts';

const AT = '2026-03-01T12:00:00.000Z';
const change = (version: number, kind: 'open' | 'closed' = 'open'): RecordedChange => ({
  ...{ tenantId: 'acme', agentId: 'agent', ref: { scope: 'run', scopeId: 'run' }, version },
  state: kind === 'open' ? { kind, openedAt: AT, reason: 'cost' } : { kind },
});

function recorderOn(broken: { postgres: boolean; store: boolean }) {
  const recorded: BreakerChanged[] = [];
  let announced = 0;
  const marked: number[] = [];
  let dropped = 0;
  const recorder = new BreakerRecorder({
    store: {
      recorded: async (_tenant, _agent, _ref, version) => {
        if (broken.store) throw new Error('away');
        marked.push(version);
      },
    },
    repository: {
      record: async (one) => {
        if (broken.postgres) throw new Error('away');
        recorded.push(one);
      },
    },
    now: () => Date.parse(AT),
    drops: { dropped: (_, count) => (dropped += count) },
    logger: createLogger({ name: 'test', level: 'silent' }),
    maxPending: 3,
    announce: () => {
      announced += 1;
    },
  });
  return { recorder, recorded, marked, announced: () => announced, dropped: () => dropped };
}

describe('BreakerRecorder', () => {
  it.each(['open', 'closed'] as const)(
    'writes and announces the change of a %s breaker and marks it in the store',
    async (kind) => {
      const { recorder, recorded, announced, marked } = recorderOn({ postgres: false, store: false });
      recorder.record(change(7, kind));
      recorder.record(change(7, kind));
      await recorder.stop();
      expect(recorded).toMatchObject([{ scope: 'run', scopeId: 'run', version: 7, at: AT, state: { kind } }]);
      expect([announced(), marked]).toEqual([1, [7]]);
    },
  );

  it.each(['postgres', 'store'] as const)('retries while %s is unavailable', async (what) => {
    const broken = { postgres: false, store: false, [what]: true };
    const { recorder, marked } = recorderOn(broken);
    recorder.record(change(1));
    await recorder.flush();
    expect(marked).toEqual([]);
    broken[what] = false;
    await eventually(() => expect(marked).toEqual([1]));
    await recorder.stop();
  });

  it('counts changes dropped over the capacity and at shutdown', async () => {
    const { recorder, recorded, dropped } = recorderOn({ postgres: true, store: false });
    for (let run = 0; run < 5; run++) {
      recorder.record({ ...change(1), ref: { scope: 'run', scopeId: `run-${run}` } });
      recorder.record({ ...change(2), ref: { scope: 'run', scopeId: `run-${run}` } });
    }
    expect(dropped()).toBe(4);
    await recorder.stop();
    expect(recorded).toEqual([]);
    expect(dropped()).toBe(4 + 3);
  });
});
