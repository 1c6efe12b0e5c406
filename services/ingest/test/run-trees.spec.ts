import { controlOrdered, NO_TREE_LIMITS } from '@agentlens/contracts';
import { TreeLimiter } from '@agentlens/decisions';
import { createLogger } from '@agentlens/platform';
import { createMemoryState, type RunTrees } from '@agentlens/state';
import { fixedClock } from '@agentlens/testing';
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

const started = async (runId: string, parentRunId?: string) =>
  (await protocol.call('POST', `/v1/runs/${runId}/start`, { agentId: 'bot', ...(parentRunId && { parentRunId }) }))
    .body;
const end = (runId: string) => protocol.call('POST', `/v1/runs/${runId}/end`, { agentId: 'bot', status: 'success' });
const answered = async (runId: string) => (await ask(runId)).body;
const beat = async (runId: string) =>
  (await protocol.call('POST', `/v1/runs/${runId}/heartbeat`, { agentId: 'bot' })).body;
const limitTo = (limits: Partial<typeof NO_TREE_LIMITS>) =>
  protocol.gateway.limitTrees({ ...NO_TREE_LIMITS, ...limits });
const open = expect.objectContaining({ lockdown: { active: false } });
const lockedDown = (lockdownId: string, reason: string) =>
  expect.objectContaining({ lockdown: { active: true, kind: 'killed', lockdownId, reason } });

describe('limits of a run tree', () => {
  it('keep runs out that are too deep', async () => {
    limitTo({ maxDepth: 1 });
    await started('root');
    expect(await started('child', 'root')).toEqual(open);
    const reason = 'This run is too deep in its run tree: a run may have at most 1 ancestors (maxDepth)';
    expect(await started('grandchild', 'child')).toEqual(lockedDown('tree:depth', reason));
    expect(await beat('grandchild')).toEqual(lockedDown('tree:depth', reason));
    await answered('grandchild');
    expect(protocol.asked.at(-1)).toMatchObject({ overTreeLimit: { limit: 'depth', max: 1 } });
    await answered('child');
    expect(protocol.asked.at(-1)).not.toHaveProperty('overTreeLimit');
  });

  it('keep children out, and count a retried start once', async () => {
    limitTo({ maxChildren: 2 });
    for (const _ of [1, 2, 3]) for (const run of ['a', 'b']) expect(await started(run, 'root')).toEqual(open);
    const reason = 'Its parent has started too many runs: a run may start at most 2 (maxChildren)';
    for (const _ of [1, 2]) expect(await started('c', 'root')).toEqual(lockedDown('tree:children', reason));
    expect(await started('d', 'a')).toEqual(open);
  });

  it('keep runs out of a full tree, on every path', async () => {
    limitTo({ maxRuns: 2 });
    await started('a', 'root');
    const reason = 'Its run tree has too many runs: a tree may have at most 2 (maxRuns)';
    expect(await started('b', 'a')).toEqual(lockedDown('tree:runs', reason));
    // Without the evaluator, the gateway answers by the limit, not by the fail mode.
    await protocol.leave();
    expect(await answered('b')).toMatchObject({
      ...{ verdict: 'BLOCK', control: 'TERMINATE', message: reason },
      cause: { kind: 'LOCKDOWN', lockdownId: 'tree:runs' },
    });
    expect((await answered('a')).verdict).toBe('ALLOW');
  });

  it('block a run whose parent becomes known late from then on, and none for its number', async () => {
    limitTo({ maxDepth: 1, maxRuns: 2 });
    expect(await started('child', 'middle')).toEqual(open);
    expect((await answered('child')).verdict).toBe('ALLOW');
    expect(await started('middle', 'top')).toEqual(
      lockedDown('tree:runs', 'Its run tree has too many runs: a tree may have at most 2 (maxRuns)'),
    );
    await protocol.leave();
    expect((await answered('child')).cause).toEqual({ kind: 'LOCKDOWN', lockdownId: 'tree:depth' });
    limitTo({ maxRuns: 2 });
    expect((await answered('child')).verdict).toBe('ALLOW');
  });

  it('admit a run again once a limit is raised or removed', async () => {
    limitTo({ maxChildren: 1 });
    await started('a', 'root');
    await started('b', 'root');
    await protocol.leave();
    expect((await answered('b')).verdict).toBe('BLOCK');
    limitTo({ maxChildren: 2 });
    protocol.gateway.clock.advance(1_000);
    expect((await answered('b')).verdict).toBe('ALLOW');
    limitTo({ maxDepth: 0 });
    expect((await answered('b')).verdict).toBe('BLOCK');
    limitTo({});
    expect((await answered('b')).verdict).toBe('ALLOW');
  });

  it('do not apply to runs without a parent and to other tenants', async () => {
    limitTo({ maxDepth: 0, maxChildren: 1, maxRuns: 1 });
    for (const run of ['a', 'b', 'c']) expect(await started(run)).toEqual(open);
    const foreign = { key: protocol.gateway.keys.foreign };
    for (const run of ['d', 'e']) {
      const body = { agentId: 'bot', parentRunId: 'a' };
      expect((await protocol.call('POST', `/v1/runs/${run}/start`, body, foreign)).body).toEqual(open);
    }
  });

  it('ignore a run that names itself, and end at circles', async () => {
    limitTo({ maxDepth: 1, maxChildren: 1, maxRuns: 2 });
    for (const _ of [1, 2]) {
      expect(await started('self', 'self')).toEqual(open);
      expect(await started('a', 'b')).toEqual(open);
      expect(await started('b', 'a')).toEqual(open);
    }
    expect(await started('c', 'a')).toMatchObject({ lockdown: { active: true, lockdownId: 'tree:depth' } });
  });

  it('keep the first parent of a run that names another one later', async () => {
    limitTo({ maxChildren: 1 });
    await started('run', 'first');
    expect(await started('run', 'second')).toMatchObject({ lineage: { ancestors: ['first'] } });
    expect(await started('other', 'second')).toEqual(open);
    expect(await started('third', 'first')).toMatchObject({ lockdown: { lockdownId: 'tree:children' } });
  });

  it('count a run that starts after its end like any other', async () => {
    limitTo({ maxChildren: 1 });
    await end('late');
    expect(await started('late', 'root')).toEqual(open);
    await end('late');
    expect(await started('late', 'root')).toEqual(open);
    expect(await started('next', 'root')).toMatchObject({ lockdown: { lockdownId: 'tree:children' } });
  });
});

const logger = createLogger({ name: 'tree-limiter', level: 'silent' });
const LIMITS = { maxDepth: 3, maxChildren: 1, maxRuns: 10 };
const run = (runId: string, ...ancestors: string[]) => ({ tenantId: 'acme', runId, ancestors });

/** Counts that can hang or fail, and how often they were asked. */
function someTrees() {
  const { runTrees } = createMemoryState();
  const store = { asked: 0, mode: 'well' as 'well' | 'hangs' | 'fails' };
  const through = <T>(answer: () => Promise<T>): Promise<T> => {
    store.asked += 1;
    if (store.mode === 'hangs') return new Promise(() => undefined);
    return store.mode === 'fails' ? Promise.reject(new Error('away')) : answer();
  };
  const trees: RunTrees = {
    enter: (...entry) => through(() => runTrees.enter(...entry)),
    retry: (...entry) => through(() => runTrees.retry(...entry)),
  };
  return { store, trees };
}

describe('TreeLimiter', () => {
  it('asks nothing without limits, without a parent and for the depth', async () => {
    const { store, trees } = someTrees();
    const limiter = new TreeLimiter(trees, Date.now, logger);
    expect(await limiter.started(run('a', 'root'), undefined)).toBeUndefined();
    expect(await limiter.started(run('a'), LIMITS)).toBeUndefined();
    expect(await limiter.running(run('a', 'root'), { ...NO_TREE_LIMITS, maxDepth: 0 })).toEqual({
      ...{ limit: 'depth', max: 0 },
    });
    expect(store.asked).toBe(0);
  });

  it('finds a run that another instance kept out, within 5 seconds, and asks rarely', async () => {
    const clock = fixedClock('2026-03-01T12:00:00.000Z');
    const { store, trees } = someTrees();
    const [here, there] = [1, 2].map(() => new TreeLimiter(trees, () => clock.now(), logger));
    await here?.started(run('a', 'root'), LIMITS);
    for (const _ of [1, 2, 3]) expect(await there?.running(run('b', 'root'), LIMITS)).toBeUndefined();
    expect(store.asked).toBe(2);
    expect(await here?.started(run('b', 'root'), LIMITS)).toEqual({ limit: 'children', max: 1 });
    clock.advance(5_000);
    for (const _ of [1, 2, 3])
      expect(await there?.running(run('b', 'root'), LIMITS)).toEqual({ limit: 'children', max: 1 });
    expect(store.asked).toBe(4);
  });

  it.each(['hangs', 'fails'] as const)(
    'limits only the depth while the store %s, and keeps what it knows',
    async (mode) => {
      const clock = fixedClock('2026-03-01T12:00:00.000Z');
      const { store, trees } = someTrees();
      const limiter = new TreeLimiter(trees, () => clock.now(), logger);
      await limiter.started(run('a', 'root'), LIMITS);
      await limiter.started(run('b', 'root'), LIMITS);
      store.mode = mode;
      clock.advance(60_000);
      for (const _ of [1, 2])
        expect(await limiter.running(run('b', 'root'), LIMITS)).toMatchObject({ limit: 'children' });
      expect(await limiter.started(run('c', 'root'), LIMITS)).toBeUndefined();
      expect(await limiter.started(run('d', '4', '3', '2', '1'), LIMITS)).toMatchObject({ limit: 'depth' });
      expect(store.asked).toBe(3);
      store.mode = 'well';
      clock.advance(2_000);
      expect(await limiter.started(run('c', 'root'), LIMITS)).toMatchObject({ limit: 'children' });
    },
  );
});
