import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Standings } from './standing.ts';

const order = (scope: string, scopeId: string, state: string, version: number) => ({
  id: `${scope}-${version}`,
  scope,
  scopeId,
  state,
  reason: 'r',
  version,
});

describe('orders', () => {
  it('hold for a run, the agent or everyone, and killed comes before paused', () => {
    const standings = new Standings();
    expect(standings.of('r1')).toEqual({ state: 'running' });
    expect(standings.take(order('run', 'r1', 'killed', 1), 'a')).toBe('run-1');
    expect(standings.take(order('agent', 'a', 'paused', 1), 'a')).toBe('agent-1');
    expect(standings.of('r1')).toEqual({ state: 'killed', id: 'run-1', reason: 'r' });
    expect(standings.of('r2')).toEqual({ state: 'paused', id: 'agent-1', reason: 'r' });
    standings.take(order('agent', 'a', 'running', 2), 'a');
    expect(standings.of('r2')).toEqual({ state: 'running' });
    standings.take(order('tenant', 't', 'killed', 1), 'a');
    expect(standings.of('r2')).toMatchObject({ state: 'killed' });
  });

  it('of runs are forgotten, oldest first, where there are thousands; those of the agent never', () => {
    const standings = new Standings();
    standings.take(order('agent', 'a', 'paused', 1), 'a');
    for (let n = 0; n < 5_000; n++) standings.take(order('run', `r${n}`, 'killed', 1), 'a');
    const states = ['r0', 'r3000', 'r4500', 'r4999'].map((run) => standings.of(run).state);
    expect(states).toEqual(['paused', 'paused', 'killed', 'killed']);
  });

  it('of other agents, and what is none, change nothing and are not acknowledged', () => {
    const standings = new Standings();
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
    expect(strange.map((message) => standings.take(message, 'a'))).toEqual(strange.map(() => null));
    expect(standings.of('r1')).toEqual({ state: 'running' });
  });

  it('end with the newest version, however often and in whatever order they are heard', () => {
    const states = ['paused', 'killed', 'running', 'paused', 'running'];
    const all = states.map((state, index) => order('agent', 'a', state, index + 1));
    fc.assert(
      fc.property(fc.shuffledSubarray([...all, ...all], { minLength: 10 }), (heard) => {
        const standings = new Standings();
        for (const message of heard) standings.take(message, 'a');
        expect(standings.of('r')).toEqual({ state: 'running' });
      }),
    );
  });
});

describe('directives', () => {
  it('pause the agent and choose its model, whole each time', () => {
    const standings = new Standings();
    expect(standings.modelOverride).toBeUndefined();
    const base = { agentId: 'a', paused: null, modelOverride: null };
    standings.take({ ...base, id: 'd1', version: 1, modelOverride: { model: 'small' } }, 'a');
    expect(standings.modelOverride).toBe('small');
    standings.take({ ...base, id: 'd3', version: 3, paused: { reason: 'why' } }, 'a');
    standings.take({ ...base, id: 'd2', version: 2, modelOverride: { model: 'late' } }, 'a');
    expect(standings.modelOverride).toBeNull();
    expect(standings.of('r')).toEqual({ state: 'paused', id: 'd3', reason: 'why' });
  });
});
