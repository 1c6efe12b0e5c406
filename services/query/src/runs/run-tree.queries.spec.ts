import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aRun, NO_TOTALS } from './run.testing.ts';
import { runTree } from './run-tree.queries.ts';

const run = (id: string, parentRunId?: string, costUsd = 0.1) =>
  aRun({ id, ...(parentRunId === undefined ? {} : { parentRunId }), totals: { ...NO_TOTALS, events: 1, costUsd } });

describe('run tree', () => {
  it('lists parents before children, the earliest first, with rolled-up totals', () => {
    const late = { ...run('late', 'root'), startedAt: '2026-03-01T13:00:00.000Z' };
    const tree = runTree('root', [late, run('deep', 'early'), run('early', 'root'), run('root')]);

    expect(tree.map(({ id, depth, childCount }) => [id, depth, childCount])).toEqual([
      ['root', 0, 2],
      ['early', 1, 1],
      ['deep', 2, 0],
      ['late', 1, 0],
    ]);
    expect(tree.map(({ rolledUp }) => [rolledUp.events, rolledUp.costUsd])).toEqual([
      [4, 0.4],
      [2, 0.2],
      [1, 0.1],
      [1, 0.1],
    ]);
  });

  it('is empty without its root', () => {
    expect(runTree('root', [run('child', 'root')])).toEqual([]);
  });

  it('counts each run once if parents form a cycle', () => {
    const names = fc.constantFrom('root', 'a', 'b', 'c', 'd', undefined);
    const anyRuns = fc
      .tuple(names, names, names, names, names)
      .map((parents) => ['root', 'a', 'b', 'c', 'd'].map((id, i) => run(id, parents[i])));
    fc.assert(
      fc.property(anyRuns, (runs) => {
        const tree = runTree('root', runs);
        expect(new Set(tree.map(({ id }) => id)).size).toBe(tree.length);
        expect(tree[0]?.rolledUp.events).toBe(tree.length);
      }),
    );
  });
});
