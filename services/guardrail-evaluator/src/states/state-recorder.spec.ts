import { createLogger } from '@agentlens/platform';
import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type RuleStateRow, StateRecorder } from './state-recorder.ts';

const logger = createLogger({ name: 'test', level: 'silent' });

function state(fields: Partial<RuleStateRow> = {}): RuleStateRow {
  return {
    tenantId: 'acme',
    ruleId: 'rule-1',
    agentId: 'agent-1',
    lastEvaluatedAt: '2026-03-01T12:00:00.000Z',
    currentValue: 1,
    degradedReason: null,
    ...fields,
  };
}

let saved: (readonly RuleStateRow[])[];
let failing: boolean;
let recorder: StateRecorder;
let dropped: number;

function aRecorder(maxPending?: number): StateRecorder {
  const states = {
    save: async (some: readonly RuleStateRow[]) => {
      if (failing) throw new Error('Postgres is away');
      saved.push(some);
    },
  };
  return new StateRecorder(states, { dropped: (_, count) => (dropped += count) }, logger, maxPending);
}

beforeEach(() => {
  saved = [];
  failing = false;
  dropped = 0;
  recorder = aRecorder();
});

describe('StateRecorder', () => {
  it('writes only the newest state of each key', async () => {
    recorder.record(state({ currentValue: 1 }));
    recorder.record(state({ currentValue: 2, lastEvaluatedAt: '2026-03-01T12:00:01.000Z' }));
    recorder.record(state({ currentValue: 3, lastEvaluatedAt: '2026-03-01T11:59:00.000Z' }));
    recorder.record(state({ agentId: 'agent-2' }));
    await recorder.flush();
    expect(saved.flat().map(({ agentId, currentValue }) => [agentId, currentValue])).toEqual([
      ['agent-1', 2],
      ['agent-2', 1],
    ]);
  });

  it('writes nothing twice and nothing unchanged', async () => {
    recorder.record(state());
    await recorder.flush();
    await recorder.flush();
    expect(saved).toHaveLength(1);
  });

  it('keeps a state that could not be written, unless a newer one exists', async () => {
    failing = true;
    recorder.record(state({ currentValue: 1 }));
    recorder.record(state({ agentId: 'agent-2' }));
    const flushed = recorder.flush();
    recorder.record(state({ currentValue: 2, lastEvaluatedAt: '2026-03-01T12:00:01.000Z' }));
    await flushed;
    failing = false;
    await recorder.stop();
    expect(saved.flat().map(({ agentId, currentValue }) => [agentId, currentValue])).toEqual([
      ['agent-1', 2],
      ['agent-2', 1],
    ]);
  });

  it('writes pages', async () => {
    for (let i = 0; i < 1_100; i++) recorder.record(state({ agentId: `agent-${i}` }));
    await recorder.flush();
    expect(saved.map((page) => page.length)).toEqual([500, 500, 100]);
  });

  it('counts exactly the keys over its capacity as dropped, whenever Postgres is unavailable', async () => {
    const steps = fc.array(fc.constantFrom('state', 'state', 'state', 'flush', 'away', 'back'), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 8 }), fc.boolean(), async (moves, most, endsAway) => {
        saved = [];
        dropped = 0;
        failing = false;
        const bounded = aRecorder(most);
        let recorded = 0;
        for (const move of moves) {
          if (move === 'state') bounded.record(state({ agentId: `agent-${recorded++}` }));
          else if (move === 'flush') await bounded.flush();
          else failing = move === 'away';
        }
        failing = endsAway;
        await bounded.stop();
        expect(saved.flat().length + dropped).toBe(recorded);
        expect(new Set(saved.flat().map(({ agentId }) => agentId)).size).toBe(saved.flat().length);
      }),
    );
  });
});
