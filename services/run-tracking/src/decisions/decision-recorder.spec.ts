import type { Decision } from '@agentlens/contracts';
import { ACK } from '@agentlens/messaging';
import { describe, expect, it } from '@jest/globals';
import { aDecision, decisionMessage } from './decision.testing.ts';
import { DecisionRecorder } from './decision-recorder.ts';

function recorder(refuses: (decisions: readonly Decision[]) => string | undefined) {
  const stored: string[] = [];
  const poison: string[] = [];
  let away = 0;
  const store = {
    record: async (decisions: readonly Decision[]) => {
      const code = refuses(decisions);
      if (code !== undefined) throw Object.assign(new Error(code), { code });
      stored.push(...decisions.map(({ id }) => id));
      return decisions.length;
    },
  };
  return {
    stored,
    poison,
    away: () => away,
    recorder: new DecisionRecorder({
      store,
      onRecorded: () => {},
      onPoison: (reason) => poison.push(reason),
      onAway: () => {
        away += 1;
      },
    }),
  };
}

const messages = ['a', 'b', 'c'].map((id) => decisionMessage(aDecision({ id })));

describe('decision recorder', () => {
  it('stores the decisions of all messages together', async () => {
    const all = recorder(() => undefined);

    expect(await all.recorder.record(messages)).toEqual([ACK, ACK, ACK]);
    expect(all.stored).toEqual(['a', 'b', 'c']);
  });

  it('turns a decision that can never be stored into a dead letter and stores the others', async () => {
    const all = recorder((decisions) => (decisions.some(({ id }) => id === 'b') ? '22P05' : undefined));

    const reason = 'decision b cannot be stored: SQLSTATE 22P05';
    expect(await all.recorder.record(messages)).toEqual([ACK, { kind: 'poison', reason }, ACK]);
    expect(all.stored).toEqual(['a', 'c']);
    expect(all.poison).toEqual([reason]);
  });

  it('keeps all messages for later while the database is unavailable', async () => {
    const all = recorder(() => 'ECONNREFUSED');

    const outcomes = await all.recorder.record(messages);

    expect(outcomes.map(({ kind }) => kind)).toEqual(['retry', 'retry', 'retry']);
    expect([all.away(), all.poison]).toEqual([1, []]);
  });
});
