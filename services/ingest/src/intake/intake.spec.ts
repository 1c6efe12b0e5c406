import { setImmediate as nextTurn } from 'node:timers/promises';
import { RunOwners } from '@agentlens/decisions';
import { PriceTable } from '@agentlens/prices';
import { createMemoryState } from '@agentlens/state';
import { fixedClock } from '@agentlens/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { EventIntake } from './intake.ts';
import { RunParents } from './run-parents.ts';

const clock = fixedClock();

function delivery(count: number, key?: string) {
  const events = Array.from({ length: count }, (_, i) => ({
    sessionId: 's-1',
    agentId: 'agent-1',
    eventType: 'custom',
    payload: { type: 'note', data: { i } },
  }));
  return { tenantId: 'acme', events, key, nowMs: clock.now() };
}

describe('EventIntake', () => {
  let intake: EventIntake;

  beforeEach(() => {
    const { idempotency } = createMemoryState({ clock });
    const owners = new RunOwners(idempotency, Date.now, () => undefined);
    intake = new EventIntake(
      idempotency,
      { of: () => new PriceTable() },
      30,
      () => undefined,
      owners,
      new RunParents({ memory: idempotency, owners, now: Date.now, onMemoryLost: () => undefined }),
    );
  });

  it('judges a small request while it is busy with a large one', async () => {
    const order: string[] = [];
    const large = intake.judge(delivery(1_000)).then(() => order.push('large'));
    await nextTurn();
    await intake.judge(delivery(1)).then(() => order.push('small'));
    await large;
    expect(order).toEqual(['small', 'large']);
  });

  it('judges a large request the same way as its repetition, event by event', async () => {
    const [first, second] = [await intake.judge(delivery(350, 'key')), await intake.judge(delivery(350, 'key'))];
    if (first.kind !== 'judged' || second.kind !== 'judged') throw new Error('the key was not used before');
    expect(second.verdicts).toEqual(first.verdicts);
    const places = first.verdicts.map((verdict) => verdict.ok && verdict.event.payload);
    expect(places).toEqual(delivery(350).events.map(({ payload }) => payload));
  });
});
