import type { EventBatch } from '@agentlens/contracts';
import { aBatch, anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { Rounds } from './rounds.ts';

/** An evaluator whose rounds end when the test decides. */
function slowEvaluator() {
  const begun: { readonly tenants: readonly string[]; readonly measured: PromiseWithResolvers<void> }[] = [];
  return {
    begun,
    begin: (batches: readonly EventBatch[]) => {
      const measured = Promise.withResolvers<void>();
      begun.push({ tenants: batches.map(({ tenantId }) => tenantId), measured });
      return { measured: measured.promise, done: batches.map(() => measured.promise) };
    },
  };
}

const batch = (tenantId: string, events: number) => ({
  tenantId,
  events,
  read: () => aBatch({ tenantId, events: Array.from({ length: events }, () => anEvent()) }),
});

const settled = () => new Promise(setImmediate);

describe('Rounds', () => {
  it('evaluates batches that arrive together in one round', async () => {
    const evaluator = slowEvaluator();
    const rounds = new Rounds(evaluator);
    void rounds.evaluate(batch('a', 1));
    void rounds.evaluate(batch('b', 1));
    await settled();
    expect(evaluator.begun.map(({ tenants }) => tenants)).toEqual([['a', 'b']]);
  });

  it('puts a quiet tenant’s batch into the next round, regardless of a loud tenant’s backlog', async () => {
    const evaluator = slowEvaluator();
    const rounds = new Rounds(evaluator);
    for (let i = 0; i < 50; i++) void rounds.evaluate(batch('loud', 100));
    await settled();
    const quiet = rounds.evaluate(batch('quiet', 1));
    expect(evaluator.begun.flatMap(({ tenants }) => tenants)).not.toContain('quiet');
    const [first] = evaluator.begun;
    first?.measured.resolve();
    await settled();
    const next = evaluator.begun.at(-1);
    expect(next?.tenants).toContain('quiet');
    next?.measured.resolve();
    await quiet;
  });

  it('evaluates everything, one round after the other', async () => {
    const evaluator = slowEvaluator();
    const rounds = new Rounds(evaluator);
    const all = Promise.all(Array.from({ length: 30 }, (_, i) => rounds.evaluate(batch(`t${i % 3}`, 70))));
    for (let round = 0; round < evaluator.begun.length || round === 0; round++) {
      await settled();
      evaluator.begun[round]?.measured.resolve();
      await settled();
    }
    await all;
    expect(evaluator.begun.flatMap(({ tenants }) => tenants)).toHaveLength(30);
  });

  it('rejects only the batch of a round that failed', async () => {
    const rounds = new Rounds({
      begin: (batches) => ({
        measured: Promise.resolve(),
        done: batches.map(({ tenantId }) => (tenantId === 'bad' ? Promise.reject(new Error('no')) : Promise.resolve())),
      }),
    });
    const results = await Promise.allSettled([rounds.evaluate(batch('bad', 1)), rounds.evaluate(batch('good', 1))]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  it('reads a batch when its round starts, not before', async () => {
    const evaluator = slowEvaluator();
    const rounds = new Rounds(evaluator);
    const read: number[] = [];
    for (let i = 0; i < 3; i++) {
      const one = batch('a', 200);
      const noted = () => {
        read.push(i);
        return one.read();
      };
      void rounds.evaluate({ ...one, read: noted });
    }
    await settled();
    expect(read).toEqual([0, 1]);
    evaluator.begun[0]?.measured.resolve();
    await settled();
    expect(read).toEqual([0, 1, 2]);
  });

  it('rejects only the batch of a round that cannot be read', async () => {
    const evaluator = slowEvaluator();
    const rounds = new Rounds(evaluator);
    const unreadable = {
      ...batch('a', 1),
      read: () => {
        throw new Error('not JSON');
      },
    };
    const results = Promise.allSettled([rounds.evaluate(unreadable), rounds.evaluate(batch('b', 1))]);
    await settled();
    for (const { measured } of evaluator.begun) measured.resolve();
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(evaluator.begun.map(({ tenants }) => tenants)).toEqual([['b']]);
  });
});
