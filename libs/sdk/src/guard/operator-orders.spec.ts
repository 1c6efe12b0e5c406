import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { OperatorOrders } from './operator-orders.ts';

const order = (scope: string, scopeId: string, state: string, version: number) => ({
  id: `${scope}-${version}`,
  scope,
  scopeId,
  state,
  reason: 'r',
  version,
});

describe('orders', () => {
  it('apply to a run, the agent or all agents; killed takes precedence over paused', () => {
    const orders = new OperatorOrders();
    expect(orders.of('r1')).toEqual({ state: 'running' });
    expect(orders.take(order('run', 'r1', 'killed', 1), 'a')).toBe('run-1');
    expect(orders.take(order('agent', 'a', 'paused', 1), 'a')).toBe('agent-1');
    expect(orders.of('r1')).toEqual({ state: 'killed', id: 'run-1', reason: 'r' });
    expect(orders.of('r2')).toEqual({ state: 'paused', id: 'agent-1', reason: 'r' });
    orders.take(order('agent', 'a', 'running', 2), 'a');
    expect(orders.of('r2')).toEqual({ state: 'running' });
    orders.take(order('tenant', 't', 'killed', 1), 'a');
    expect(orders.of('r2')).toMatchObject({ state: 'killed' });
  });

  it('evict orders about runs, oldest first, above the limit, but never those about the agent', () => {
    const orders = new OperatorOrders();
    orders.take(order('agent', 'a', 'paused', 1), 'a');
    for (let n = 0; n < 5_000; n++) orders.take(order('run', `r${n}`, 'killed', 1), 'a');
    const states = ['r0', 'r3000', 'r4500', 'r4999'].map((run) => orders.of(run).state);
    expect(states).toEqual(['paused', 'paused', 'killed', 'killed']);
  });

  it('ignore and do not acknowledge orders for other agents and malformed orders', () => {
    const orders = new OperatorOrders();
    const strange = [
      order('agent', 'b', 'killed', 1),
      order('planet', 'a', 'killed', 1),
      order('run', 'r1', 'exploded', 1),
      { id: 'd', version: 1, agentId: 'b', paused: { reason: 'x' } },
      { id: 'd', version: '1', paused: null },
      null,
      'kill',
      [],
    ];
    expect(strange.map((message) => orders.take(message, 'a'))).toEqual(strange.map(() => null));
    expect(orders.of('r1')).toEqual({ state: 'running' });
  });

  it('converge on the newest version, in any order and with duplicates', () => {
    const states = ['paused', 'killed', 'running', 'paused', 'running'];
    const all = states.map((state, index) => order('agent', 'a', state, index + 1));
    fc.assert(
      fc.property(fc.shuffledSubarray([...all, ...all], { minLength: 10 }), (heard) => {
        const orders = new OperatorOrders();
        for (const message of heard) orders.take(message, 'a');
        expect(orders.of('r')).toEqual({ state: 'running' });
      }),
    );
  });
});

describe('directives', () => {
  it('pause the agent and set its model, each message complete', () => {
    const orders = new OperatorOrders();
    expect(orders.modelOverride).toBeUndefined();
    const base = { agentId: 'a', paused: null, modelOverride: null };
    orders.take({ ...base, id: 'd1', version: 1, modelOverride: { model: 'small' } }, 'a');
    expect(orders.modelOverride).toBe('small');
    orders.take({ ...base, id: 'd3', version: 3, paused: { reason: 'why' } }, 'a');
    orders.take({ ...base, id: 'd2', version: 2, modelOverride: { model: 'late' } }, 'a');
    expect(orders.modelOverride).toBeNull();
    expect(orders.of('r')).toEqual({ state: 'paused', id: 'd3', reason: 'why' });
  });
});
