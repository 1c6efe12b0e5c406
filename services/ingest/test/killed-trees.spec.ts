import { controlOrdered } from '@agentlens/contracts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anOrder, type Protocol, QUESTION, startProtocol } from './agent-protocol.ts';

const DESCENDANTS = 200;

let protocol: Protocol;
beforeEach(async () => {
  protocol = await startProtocol();
});
afterEach(() => protocol.close());

const start = (runId: string, parentRunId: string | undefined, agentId = 'bot') =>
  protocol.call('POST', `/v1/runs/${runId}/start`, { agentId, ...(parentRunId && { parentRunId }) });
const ask = (runId: string, agentId = 'bot') =>
  protocol.call('POST', `/v1/runs/${runId}/evaluate`, { ...QUESTION, agentId });
const order = (runId: string, state: 'killed' | 'running', version: number) =>
  protocol.gateway.bus.publish(controlOrdered, anOrder({ scopeId: runId, state, version, id: `order-${version}` }));

describe('a killed run', () => {
  it('stops all its descendants, of any agent, in any order of their starts', async () => {
    // A tree of any shape: the parent of each run is an earlier one.
    const parents = Array.from({ length: DESCENDANTS }, (_, at) =>
      at === 0 ? 'root' : `run-${Math.floor((at - 1) / 3)}`,
    );
    for (const at of [...parents.keys()].reverse()) await start(`run-${at}`, parents[at], `agent-${at % 7}`);
    await start('root', undefined);
    await start('beside', undefined);
    await order('root', 'killed', 1);
    await protocol.leave();
    for (const at of parents.keys()) {
      const { body } = await ask(`run-${at}`, `agent-${at % 7}`);
      expect(body).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE', cause: { kind: 'LOCKDOWN' } });
    }
    const beat = await protocol.call('POST', '/v1/runs/run-199/heartbeat', { agentId: 'agent-3' });
    expect(beat.body.lockdown).toMatchObject({ active: true, kind: 'killed' });
    expect(beat.body.lockdown.reason).toBe('Run root, from which this one came, is killed: runaway');
    expect((await ask('beside')).body.verdict).toBe('ALLOW');
    await order('root', 'running', 2);
    expect((await ask('run-199', 'agent-3')).body.verdict).toBe('ALLOW');
  });

  it('tells a descendant at its start which ancestor is killed, and that it may not start', async () => {
    await start('r1', undefined);
    expect((await start('r2', 'r1')).body).toEqual({
      runId: 'r2',
      lockdown: { active: false },
      lineage: { ancestors: ['r1'] },
    });
    await order('r1', 'killed', 1);
    const { body } = await start('r3', 'r2');
    expect(body).toMatchObject({ lineage: { ancestors: ['r2', 'r1'] }, lockdown: { active: true, kind: 'killed' } });
  });

  it('passes the ancestors of the run to the evaluator', async () => {
    await start('r1', undefined);
    await start('r2', 'r1');
    await start('r3', 'r2');
    await ask('r3');
    await ask('r1');
    expect(protocol.asked.map(({ ancestors }) => ancestors)).toEqual([['r2', 'r1'], undefined]);
  });

  it('stops exactly its descendants, in any forest', async () => {
    // Without the evaluator the gateway answers by orders alone.
    await protocol.leave();
    let forest = 0;
    let version = 100;
    const links = fc.array(fc.nat(11), { minLength: 12, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(links, fc.nat(11), async (parents, killed) => {
        const prefix = `f${++forest}`;
        const name = (at: number) => `${prefix}-${at}`;
        for (const [at, parent] of parents.entries()) await start(name(at), parent < at ? name(parent) : undefined);
        await order(name(killed), 'killed', ++version);
        const comesFrom = (at: number): boolean => {
          const parent = parents[at] ?? 0;
          return at === killed || (parent < at && comesFrom(parent));
        };
        for (const at of parents.keys()) {
          expect((await ask(name(at))).body.verdict).toBe(comesFrom(at) ? 'BLOCK' : 'ALLOW');
        }
      }),
      { numRuns: 10 },
    );
  });
});
