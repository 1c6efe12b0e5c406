import type { BreakerChanged, Command } from '@agentlens/contracts';
import { createLogger } from '@agentlens/platform';
import { eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { BreakerRecorder, type RecordedChange } from './breaker-recorder.ts';

const AT = '2026-03-01T12:00:00.000Z';
const change = (version: number, kind: 'open' | 'closed' = 'open'): RecordedChange => ({
  ...{ tenantId: 'acme', agentId: 'agent', ref: { scope: 'run', scopeId: 'run' }, version },
  state: kind === 'open' ? { kind, openedAt: AT, reason: 'cost' } : { kind },
});

function recorderOn(broken: { postgres: boolean; dispatcher: boolean }) {
  const recorded: BreakerChanged[] = [];
  const alerts: unknown[] = [];
  const marked: number[] = [];
  const recorder = new BreakerRecorder({
    store: { recorded: async (_tenant, _agent, _ref, version) => void marked.push(version) },
    repository: {
      record: async (one) => {
        if (broken.postgres) throw new Error('away');
        recorded.push(one);
      },
    },
    bus: {
      request: async <Q, A>(_: Command<Q, A>, question: Q): Promise<A> => {
        if (broken.dispatcher) throw new Error('unanswered');
        alerts.push(question);
        return { ok: true } as A;
      },
    },
    now: () => Date.parse(AT),
    logger: createLogger({ name: 'test', level: 'silent' }),
    announce: () => undefined,
  });
  return { recorder, recorded, alerts, marked };
}

describe('the record of breakers', () => {
  it('is written, announced and told to people, and the store learns of it', async () => {
    const { recorder, recorded, alerts, marked } = recorderOn({ postgres: false, dispatcher: false });
    recorder.record(change(7));
    recorder.record(change(7));
    await recorder.stop();
    expect(recorded).toMatchObject([{ scope: 'run', scopeId: 'run', version: 7, at: AT }]);
    expect(alerts).toMatchObject([{ kind: 'breaker', runId: 'run', severity: 'error' }]);
    expect(marked).toEqual([7]);
  });

  it('tells nobody of a breaker that closes', async () => {
    const { recorder, alerts, marked } = recorderOn({ postgres: false, dispatcher: false });
    recorder.record(change(8, 'closed'));
    await recorder.stop();
    expect([alerts, marked]).toEqual([[], [8]]);
  });

  it.each(['postgres', 'dispatcher'] as const)('is tried again while %s is away', async (what) => {
    const broken = { postgres: false, dispatcher: false, [what]: true };
    const { recorder, marked } = recorderOn(broken);
    recorder.record(change(1));
    await recorder.flush();
    expect(marked).toEqual([]);
    broken[what] = false;
    await eventually(() => expect(marked).toEqual([1]));
    await recorder.stop();
  });
});
