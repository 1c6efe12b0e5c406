import type { DecisionRequest } from '@agentlens/contracts';
import { createLogger } from '@agentlens/platform';
import { createMemoryState, type RunContext, type RunContexts } from '@agentlens/state';
import { fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { KnownRuns } from './known-runs.ts';

const NOW = '2026-03-01T12:00:00.000Z';
const logger = createLogger({ name: 'known-runs', level: 'silent' });
const question = (runId = 'r1'): DecisionRequest => ({
  tenantId: 'acme',
  agentId: 'bot',
  runId,
  phase: 'tool.before',
  tool: { name: 't', tags: [] },
  tags: {},
  subjects: [],
  metrics: {},
  receivedAt: NOW,
  deadlineMs: 1_000,
});

/** A shared store that counts its requests, and can hang or fail. */
function aStore() {
  const { runContexts } = createMemoryState();
  const store = { asked: 0, mode: 'well' as 'well' | 'hangs' | 'fails' };
  const contexts: RunContexts = {
    keep: (...args) => (store.mode === 'fails' ? Promise.reject(new Error('away')) : runContexts.keep(...args)),
    find: (...args) => {
      store.asked += 1;
      if (store.mode === 'hangs') return new Promise<RunContext | undefined>(() => undefined);
      return store.mode === 'fails' ? Promise.reject(new Error('away')) : runContexts.find(...args);
    },
    forgetActor: (...args) => runContexts.forgetActor(...args),
  };
  return { store, contexts };
}

describe('the context of a run’s start', () => {
  it('is known at once on the instance of the start, and after one lookup elsewhere', async () => {
    const clock = fixedClock(NOW);
    const { store, contexts } = aStore();
    const [here, there] = [1, 2].map(() => new KnownRuns(contexts, () => clock.now(), logger));
    await here?.started('acme', 'r1', { sessionId: 's1' });
    for (const _ of [1, 2]) expect(await here?.completed(question())).toMatchObject({ sessionId: 's1' });
    expect(store.asked).toBe(0);
    for (const _ of [1, 2]) expect(await there?.completed(question())).toMatchObject({ sessionId: 's1' });
    expect(store.asked).toBe(1);
  });

  it('names no actor that was erased in the store, one minute later', async () => {
    const clock = fixedClock(NOW);
    const { store, contexts } = aStore();
    const runs = new KnownRuns(contexts, () => clock.now(), logger);
    await runs.started('acme', 'r1', { sessionId: 's1', agentId: 'a', actor: { externalId: 'ann' } });
    expect(await runs.completed(question())).toMatchObject({ actor: { externalId: 'ann' } });
    await contexts.forgetActor('acme', ['r1']);
    clock.advance(60_000);
    store.mode = 'fails';
    expect(await runs.agentOf('acme', 'r1')).toBe('a');
    store.mode = 'well';
    clock.advance(2_000);
    expect((await runs.completed(question())).actor).toBeUndefined();
    expect(await runs.agentOf('acme', 'r1')).toBe('a');
  });

  it('is looked up again after a while if the run was not started yet', async () => {
    const clock = fixedClock(NOW);
    const { store, contexts } = aStore();
    const runs = new KnownRuns(contexts, () => clock.now(), logger);
    for (const _ of [1, 2, 3]) await runs.completed(question());
    expect(store.asked).toBe(1);
    await contexts.keep('acme', 'r1', { sessionId: 's1' });
    clock.advance(6_000);
    expect(await runs.completed(question())).toMatchObject({ sessionId: 's1' });
  });

  it.each(['hangs', 'fails'] as const)(
    'is skipped while the store %s, which is then not asked for a while',
    async (mode) => {
      const clock = fixedClock(NOW);
      const { store, contexts } = aStore();
      store.mode = mode;
      const runs = new KnownRuns(contexts, () => clock.now(), logger);
      for (const id of ['r1', 'r2', 'r3'])
        expect(await runs.completed(question(id))).toEqual({ ...question(id), ancestorsUnknown: true });
      expect(store.asked).toBe(1);
      store.mode = 'well';
      clock.advance(3_000);
      await runs.completed(question('r4'));
      expect(store.asked).toBe(2);
    },
  );

  it('does not need the store to start a run', async () => {
    const clock = fixedClock(NOW);
    const { store, contexts } = aStore();
    store.mode = 'fails';
    const runs = new KnownRuns(contexts, () => clock.now(), logger);
    await runs.started('acme', 'r1', { tags: { a: '1' } });
    expect(await runs.completed(question())).toMatchObject({ tags: { a: '1' } });
  });

  it('applies in addition to the agent, end user and session that a question names', async () => {
    const { contexts } = aStore();
    const runs = new KnownRuns(contexts, () => Date.parse(NOW), logger);
    const actor = { externalId: 'ann' };
    await runs.started('acme', 'r1', { agentId: 'bot', sessionId: 's1', actor });
    expect(await runs.completed(question())).not.toHaveProperty('startedAs');
    expect(await runs.completed({ ...question(), agentId: 'unknown' })).toMatchObject({ agentId: 'bot', actor });
    const other = { ...question(), agentId: 'other', sessionId: 's2', actor: { externalId: 'bob' } };
    expect(await runs.completed(other)).toMatchObject({
      ...other,
      startedAs: { agentId: 'bot', sessionId: 's1', actor },
    });
    await runs.started('acme', 'r1', { agentId: 'other' });
    expect(await runs.completed(other)).toMatchObject({ startedAs: { agentId: 'bot' } });
  });
});

describe('the ancestors of a run', () => {
  const knownRuns = (contexts: RunContexts, now = () => Date.parse(NOW)) => new KnownRuns(contexts, now, logger);

  it('are known on every instance, nearest first, with one lookup each', async () => {
    const { store, contexts } = aStore();
    const here = knownRuns(contexts);
    for (const [runId, parentRunId] of [
      ['r3', 'r2'],
      ['r2', 'r1'],
      ['r1', undefined],
    ] as const) {
      await here.started('acme', runId, { parentRunId, sessionId: 's' });
    }
    const there = knownRuns(contexts);
    for (const _ of [1, 2]) expect((await there.completed(question('r3'))).ancestors).toEqual(['r2', 'r1']);
    expect(store.asked).toBe(3);
    expect((await there.completed(question('r1'))).ancestors).toBeUndefined();
  });

  it('follow the first parent of a run that was started at two instances', async () => {
    const { contexts } = aStore();
    const [here, there] = [knownRuns(contexts), knownRuns(contexts)];
    await here.started('acme', 'run', { parentRunId: 'first' });
    await there.started('acme', 'run', { parentRunId: 'second' });
    for (const runs of [here, there]) expect(await runs.ancestors('acme', 'run')).toEqual(['first']);
  });

  it('end at a circle, at the run itself, and after 32', async () => {
    const { contexts } = aStore();
    const runs = knownRuns(contexts);
    await runs.started('acme', 'a', { parentRunId: 'b' });
    await runs.started('acme', 'b', { parentRunId: 'a' });
    await runs.started('acme', 'self', { parentRunId: 'self' });
    for (let at = 0; at < 50; at++) await runs.started('acme', `n${at}`, { parentRunId: `n${at + 1}` });
    expect(await runs.ancestors('acme', 'a')).toEqual(['b']);
    expect(await runs.ancestors('acme', 'self')).toEqual([]);
    expect(await runs.ancestors('acme', 'n0')).toHaveLength(32);
    expect(await runs.ancestors('globex', 'a')).toEqual([]);
    const isUnknown = async (id: string) => (await runs.completed(question(id))).ancestorsUnknown;
    expect([await isUnknown('a'), await isUnknown('self'), await isUnknown('n0')]).toEqual([
      undefined,
      undefined,
      true,
    ]);
  });

  it('are known in part while the store hangs', async () => {
    const { store, contexts } = aStore();
    const runs = knownRuns(contexts);
    await runs.started('acme', 'child', { parentRunId: 'parent' });
    store.mode = 'hangs';
    expect(await runs.ancestors('acme', 'child')).toEqual(['parent']);
    expect(await runs.completed(question('child'))).toMatchObject({ ancestors: ['parent'], ancestorsUnknown: true });
  });
});
