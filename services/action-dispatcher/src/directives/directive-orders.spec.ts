import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Change, type DirectiveState, NEUTRAL, overrideModelBy, pauseBy, resume } from './directive-orders.ts';

const AT = '2026-03-01T12:00:00.000Z';
const order = (triggerId: string) => ({ tenantId: 'acme', agentId: 'a', triggerId, reason: `because of ${triggerId}` });

function after(changes: readonly Change[], from: DirectiveState = NEUTRAL): DirectiveState {
  return changes.reduce((state, change) => change(state, AT) ?? state, from);
}

describe('orders to an agent', () => {
  it('pause once, even if the trigger is carried out several times', () => {
    const paused = after([pauseBy(order('t1'))]);
    expect(paused.paused).toEqual({ at: AT, reason: 'because of t1', triggerId: 't1' });
    expect(pauseBy(order('t1'))(paused, '2026-03-02T00:00:00.000Z')).toBeNull();
  });

  it('do not pause a resumed agent again without a new trigger', () => {
    const resumed = after([pauseBy(order('t2')), resume({ clearModelOverride: false })]);
    expect(after([pauseBy(order('t2')), pauseBy(order('t1'))], resumed).paused).toBeNull();
    expect(after([pauseBy(order('t3'))], resumed).paused).toMatchObject({ triggerId: 't3' });
  });

  it('keep the model override on resume unless asked to clear it', () => {
    const both = after([pauseBy(order('t1')), overrideModelBy({ ...order('t2'), model: 'small' })]);
    expect(after([resume({ clearModelOverride: false })], both)).toMatchObject({
      paused: null,
      modelOverride: { model: 'small' },
    });
    expect(after([resume({ clearModelOverride: true })], both)).toMatchObject({ paused: null, modelOverride: null });
  });

  it('change nothing if there is nothing to resume', () => {
    expect(resume({ clearModelOverride: true })(NEUTRAL, AT)).toBeNull();
  });

  it('lead to the same state in any order and with any repetition', () => {
    const orders = ['t1', 't2', 't3'].flatMap((id) => [
      pauseBy(order(id)),
      overrideModelBy({ ...order(id), model: `model-of-${id}` }),
    ]);
    const expected = after(orders);
    fc.assert(
      fc.property(fc.shuffledSubarray([...orders, ...orders], { minLength: orders.length * 2 }), (shuffled) => {
        expect(after(shuffled)).toEqual(expected);
      }),
    );
  });
});
