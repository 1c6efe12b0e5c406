import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CountedTreeLimits, RunContexts, RunTrees, TreeMember } from '../state-stores.ts';
import { fresh } from './requests.ts';

/** Contract of every RunContexts. */
export function runContextsContract(name: string, contexts: () => RunContexts): void {
  describe(`run contexts contract: ${name}`, () => {
    const context = { sessionId: 's', actor: { externalId: 'u', metadata: { plan: 'pro' } }, tags: { env: 'prod' } };

    it('returns nothing for an unknown run', async () => {
      expect(await contexts().find('acme', fresh('run'))).toBeUndefined();
    });

    it('keeps the context of the first start', async () => {
      const runId = fresh('run');
      expect(await contexts().keep('acme', runId, context)).toEqual(context);
      expect(await contexts().keep('acme', runId, { sessionId: 'other' })).toEqual(context);
      expect(await contexts().find('acme', runId)).toEqual(context);
    });

    it('forgets the actor of a run and nothing else', async () => {
      const [runId, other] = [fresh('run'), fresh('run')];
      for (const run of [runId, other]) await contexts().keep('acme', run, { ...context, agentId: 'a' });
      await contexts().forgetActor('globex', [runId]);
      expect(await contexts().find('acme', runId)).toEqual({ ...context, agentId: 'a' });
      await contexts().forgetActor('acme', [fresh('run'), runId]);
      expect(await contexts().find('acme', runId)).toEqual({ agentId: 'a', sessionId: 's', tags: context.tags });
      expect(await contexts().find('acme', other)).toEqual({ ...context, agentId: 'a' });
      await contexts().keep('acme', runId, context);
      expect(await contexts().find('acme', runId)).not.toHaveProperty('actor');
    });

    it('separates tenants and accepts ids with any characters', async () => {
      const runId = `${fresh('run')} {}:"\u{1f600}`;
      await contexts().keep('acme', runId, context);
      expect(await contexts().find('globex', runId)).toBeUndefined();
      expect(await contexts().find('acme', runId)).toEqual(context);
    });
  });
}

const limited = (limits: Partial<CountedTreeLimits>): CountedTreeLimits => ({
  maxChildren: null,
  maxRuns: null,
  ...limits,
});

/** Contract of every RunTrees. @param numRuns of the property */
export function runTreesContract(name: string, trees: () => RunTrees, numRuns: number): void {
  /** A tenant of its own. */
  const tenant = () => {
    const tenantId = fresh('tenant');
    const member = (runId: string, ...[parent = 'root', ...others]: string[]): TreeMember => ({
      ...{ tenantId, runId },
      ancestors: [parent, ...others],
    });
    return {
      enter: (limits: Partial<CountedTreeLimits>, ...line: [string, ...string[]]) =>
        trees().enter(member(...line), limited(limits)),
      retry: (limits: Partial<CountedTreeLimits>, ...line: [string, ...string[]]) =>
        trees().retry(member(...line), limited(limits)),
    };
  };

  describe(`run trees contract: ${name}`, () => {
    it('counts each child of a run once', async () => {
      const { enter } = tenant();
      for (const _ of [1, 2])
        for (const run of ['a', 'b']) expect(await enter({ maxChildren: 2 }, run)).toBeUndefined();
      for (const _ of [1, 2]) expect(await enter({ maxChildren: 2 }, 'c')).toBe('children');
      expect(await enter({ maxChildren: 2 }, 'c', 'a', 'root')).toBeUndefined();
    });

    it('counts each run of a tree once, with its root', async () => {
      const { enter } = tenant();
      const limits = { maxRuns: 3 };
      for (const _ of [1, 2]) {
        expect(await enter(limits, 'a')).toBeUndefined();
        expect(await enter(limits, 'b', 'a', 'root')).toBeUndefined();
        expect(await enter(limits, 'c', 'b', 'a', 'root')).toBe('runs');
      }
      expect(await enter(limits, 'c', 'other')).toBeUndefined();
    });

    it('leaves runs alone that no limit kept out, and admits the others once there is room', async () => {
      const { enter, retry } = tenant();
      const limits = { maxChildren: 1, maxRuns: 10 };
      await enter(limits, 'a');
      expect(await enter(limits, 'b')).toBe('children');
      expect(await retry(limits, 'earlier')).toBeUndefined();
      expect(await retry(limits, 'a')).toBeUndefined();
      expect(await retry(limits, 'b')).toBe('children');
      expect(await retry({ maxChildren: 2, maxRuns: 2 }, 'b')).toBe('runs');
      expect(await retry({ maxChildren: 2, maxRuns: 3 }, 'b')).toBeUndefined();
      expect(await retry(limits, 'b')).toBeUndefined();
      expect(await enter({ maxChildren: 2 }, 'earlier')).toBe('children');
    });

    it('adds the runs of a root to the tree of its parent, and keeps none of them out', async () => {
      const { enter, retry } = tenant();
      const limits = { maxRuns: 4 };
      for (const run of ['a', 'b', 'c']) await enter(limits, run, 'middle');
      expect(await enter(limits, 'middle', 'top')).toBe('runs');
      for (const run of ['a', 'b', 'c']) expect(await retry(limits, run, 'middle', 'top')).toBeUndefined();
      expect(await enter(limits, 'd', 'middle', 'top')).toBe('runs');
      expect(await enter({ maxRuns: 5 }, 'middle', 'top')).toBeUndefined();
      expect(await enter({ maxRuns: 5 }, 'd', 'middle', 'top')).toBe('runs');
    });

    it('counts the runs of a circle once, whichever of them is taken for its root', async () => {
      const { enter } = tenant();
      const limits = { maxRuns: 3 };
      for (const _ of [1, 2]) {
        expect(await enter(limits, 'a', 'b')).toBeUndefined();
        expect(await enter(limits, 'b', 'a')).toBeUndefined();
        expect(await enter(limits, 'c', 'a', 'b')).toBeUndefined();
      }
      expect(await enter(limits, 'd', 'b', 'a')).toBe('runs');
    });

    it('admits as many of many children as the limits allow', async () => {
      const { enter } = tenant();
      const runs = Array.from({ length: 10_000 }, (_, at) => `child-${at}`);
      const answers = await Promise.all(runs.map((run) => enter({ maxChildren: 50, maxRuns: 100 }, run)));
      expect(answers.filter((reached) => reached === undefined)).toHaveLength(50);
      expect(new Set(answers.slice(50))).toEqual(new Set(['children']));
    });

    it('separates tenants and accepts ids with any characters', async () => {
      const [one, other] = [tenant(), tenant()];
      const id = 'run {}:"\u{1f600}';
      for (const { enter } of [one, other]) {
        expect(await enter({ maxChildren: 1, maxRuns: 2 }, id, `parent ${id}`)).toBeUndefined();
        expect(await enter({ maxChildren: 1 }, 'b', `parent ${id}`)).toBe('children');
      }
    });

    it('never admits more runs than a tree may have, in any order of starts', async () => {
      // The parent of run n is an earlier run; run 0 is the root.
      const inOrder = Array.from({ length: 13 }, (_, at) => at);
      const starts = fc.record({
        parents: fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
        order: fc.oneof(fc.constant(inOrder), fc.shuffledSubarray(inOrder, { minLength: 13 })),
        maxRuns: fc.integer({ min: 1, max: 14 }),
      });
      await fc.assert(
        fc.asyncProperty(starts, async ({ parents, order, maxRuns }) => {
          const { enter, retry } = tenant();
          const parentOf = (run: number) => (run === 0 ? undefined : (parents[run - 1] ?? 0) % run);
          const started = new Set<number>();
          // A parent that has not started is the topmost known run.
          const lineOf = (run: number): string[] => {
            const parent = started.has(run) ? parentOf(run) : undefined;
            return [`run-${run}`, ...(parent === undefined ? [] : lineOf(parent))];
          };
          const admitted = new Set<string>();
          for (const run of order) {
            started.add(run);
            const [self = '', ...ancestors] = lineOf(run);
            if (ancestors.length === 0) continue;
            if ((await enter({ maxRuns }, self, ...ancestors)) === undefined) admitted.add(self);
          }
          for (const run of order.filter((one) => one !== 0)) {
            const [self = '', ...ancestors] = lineOf(run);
            expect((await retry({ maxRuns }, self, ...ancestors)) === undefined).toBe(admitted.has(self));
          }
          if (order === inOrder) expect(admitted.size).toBe(Math.min(12, maxRuns - 1));
          // From now on, nothing enters a full tree.
          if (admitted.size >= maxRuns) expect(await enter({ maxRuns }, 'late', ...lineOf(12))).toBe('runs');
        }),
        { numRuns },
      );
    });
  });
}
