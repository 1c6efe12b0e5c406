import type { IncompleteLabels, LabelCause, LabelledLine, LabelStore, StoredLabel } from '@agentlens/guardrails';
import { describe, expect, it } from '@jest/globals';
import { fresh, START_MS } from './requests.ts';

const aLine = (...runIds: [string, ...string[]]): LabelledLine => ({ tenantId: 'acme', runIds });
const aCause = (fields: Partial<LabelCause> = {}): LabelCause => ({
  ...{ runId: 'r', agentId: 'crm', toolName: 'read "it"\n', callId: 'c1', atMs: START_MS },
  ...fields,
});

const pagesOf = async function* (...pages: StoredLabel[][]) {
  yield* pages;
};

/** The store, restored when it asks for that. */
export function completed(store: LabelStore) {
  const complete = async <T extends object>(tenantId: string, ask: () => Promise<T | IncompleteLabels>): Promise<T> => {
    const answer = await ask();
    if (typeof answer !== 'string') return answer;
    await store.restore(tenantId, pagesOf());
    return complete(tenantId, ask);
  };
  return {
    read: (line: LabelledLine) => complete(line.tenantId, () => store.read(line)),
    set: async (line: LabelledLine, names: readonly string[], cause: LabelCause) =>
      (await complete(line.tenantId, () => store.set(line, names, cause))).rejected,
    clear: (line: LabelledLine, names: readonly string[]) => store.clear(line, names),
  };
}

/** Contract of every LabelStore. `elapse` is absent if the store has its own clock. */
export function labelStoreContract(
  name: string,
  store: () => LabelStore,
  elapse?: (ms: number) => Promise<void>,
): void {
  const labels = () => completed(store());
  describe(`label store contract: ${name}`, () => {
    it('answers and sets nothing for a tenant until it was restored', async () => {
      const line: LabelledLine = { tenantId: fresh('tenant'), runIds: ['run'] };
      expect(await store().set(line, ['pii'], aCause())).toBe('lost');
      expect(await store().read(line)).toBe('lost');
      expect(await store().restore(line.tenantId, pagesOf())).toBe(true);
      expect(await store().read(line)).toEqual(new Map());
    });

    it('is restored from pages, and keeps the labels and causes it has', async () => {
      const line: LabelledLine = { tenantId: fresh('tenant'), runIds: ['run', 'root'] };
      await store().restore(line.tenantId, pagesOf());
      await store().set(line, ['pii'], aCause({ toolName: 'kept' }));
      const restored = [
        [{ runId: 'root', label: 'pii', cause: aCause({ toolName: 'recorded' }) }],
        [{ runId: 'root', label: 'web', cause: aCause() }],
      ];
      expect(await store().restore(line.tenantId, pagesOf(...restored))).toBe(true);
      expect(await store().read(line)).toEqual(
        new Map([
          ['pii', aCause({ toolName: 'kept' })],
          ['web', aCause()],
        ]),
      );
    });

    it('returns the labels that did not stand before', async () => {
      const line: LabelledLine = { tenantId: fresh('tenant'), runIds: ['run'] };
      await store().restore(line.tenantId, pagesOf());
      expect(await store().set(line, ['pii'], aCause())).toEqual({ added: ['pii'], rejected: [] });
      expect(await store().set(line, ['pii', 'web'], aCause())).toEqual({ added: ['web'], rejected: [] });
    });

    it('shows a label to every run of the tree', async () => {
      const [root, child, sibling, grandchild] = ['root', 'child', 'sibling', 'grandchild'].map(fresh) as [
        ...[string, string, string, string],
      ];
      expect(await labels().set(aLine(grandchild, child, root), ['pii'], aCause())).toEqual([]);
      for (const line of [aLine(root), aLine(sibling, root), aLine(child, root), aLine(grandchild, child, root)]) {
        expect(await labels().read(line)).toEqual(new Map([['pii', aCause()]]));
      }
      expect(await labels().read(aLine(fresh('other')))).toEqual(new Map());
      expect(await labels().read({ tenantId: 'globex', runIds: [root] })).toEqual(new Map());
    });

    it('keeps the first cause of a label', async () => {
      const line = aLine(fresh('run'));
      await labels().set(line, ['pii'], aCause());
      await labels().set(line, ['pii', 'web'], aCause({ toolName: 'other', atMs: START_MS + 1 }));
      const standing = await labels().read(line);
      expect(standing.size).toBe(2);
      expect([standing.get('pii')?.toolName, standing.get('web')?.toolName]).toEqual([aCause().toolName, 'other']);
    });

    it('shows labels that a run set before its parent was known to it and its sub-runs', async () => {
      const [root, run, child] = [fresh('root'), fresh('run'), fresh('child')];
      await labels().set(aLine(run), ['pii'], aCause({ atMs: START_MS + 5 }));
      await labels().set(aLine(run, root), ['pii', 'web'], aCause({ toolName: 'earlier' }));
      for (const line of [aLine(run, root), aLine(child, run, root)]) {
        const standing = await labels().read(line);
        expect([standing.size, standing.get('pii')?.toolName]).toEqual([2, 'earlier']);
      }
    });

    it('clears labels for the whole line', async () => {
      const [root, run] = [fresh('root'), fresh('run')];
      await labels().set(aLine(run), ['pii'], aCause());
      await labels().set(aLine(run, root), ['pii', 'web'], aCause());
      await labels().clear(aLine(run, root), ['pii', 'unknown']);
      expect([...(await labels().read(aLine(run, root))).keys()]).toEqual(['web']);
      await labels().set(aLine(run, root), ['pii'], aCause({ toolName: 'again' }));
      expect((await labels().read(aLine(root))).get('pii')?.toolName).toBe('again');
    });

    it('returns the labels that a tree has no room for', async () => {
      const line = aLine(fresh('run'));
      const names = Array.from({ length: 66 }, (_, at) => `label-${at}`);
      expect(await labels().set(line, names, aCause())).toEqual(['label-64', 'label-65']);
      expect(await labels().set(line, ['label-3', 'label-65'], aCause())).toEqual(['label-65']);
      expect((await labels().read(line)).size).toBe(64);
    });

    it('sets a label once for concurrent calls', async () => {
      const line = aLine(fresh('run'));
      const calls = Array.from({ length: 10 }, (_, at) => labels().set(line, ['pii'], aCause({ callId: `c${at}` })));
      expect((await Promise.all(calls)).flat()).toEqual([]);
      expect([...(await labels().read(line)).keys()]).toEqual(['pii']);
    });

    it('accepts ids with any characters', async () => {
      const runId = `${fresh('run')} {}:"\u{1f600}`;
      await labels().set(aLine(runId), ['pii'], aCause({ runId }));
      expect((await labels().read(aLine(runId))).get('pii')?.runId).toBe(runId);
    });

    describe('evidence', () => {
      const place = (field: string) => ({ field });
      const returned = (call: string, ...prints: string[]) => ({
        ...{ kind: 'returned' as const, call, isComplete: true, cause: aCause({ callId: call }) },
        prints: new Map(prints.map((print) => [print, place(`field of ${print}`)])),
      });
      const called = (call: string) => ({ kind: 'called' as const, call });

      it('finds shared fingerprints with their place and call, in the whole tree', async () => {
        const [root, child] = [fresh('root'), fresh('child')];
        await store().note(aLine(child, root), ['pii', 'web'], returned('c1', 'p1', 'p2'));
        await store().note(aLine(root), ['pii'], returned('c2', 'p2', 'p3'));
        const shared = await store().compare(aLine(fresh('other'), root), 'pii', ['p0', 'p2', 'p3']);
        expect(shared).toEqual({
          isComplete: true,
          found: [
            { print: 'p2', place: place('field of p2'), source: aCause({ callId: 'c1' }) },
            { print: 'p3', place: place('field of p3'), source: aCause({ callId: 'c2' }) },
          ],
        });
        expect((await store().compare(aLine(root), 'web', ['p3'])).found).toEqual([]);
      });

      it('is complete once every source call has a result, and not without any', async () => {
        const line = aLine(fresh('run'));
        const isComplete = async () => (await store().compare(line, 'pii', [])).isComplete;
        const states = [await isComplete()];
        for (const note of [called('a'), called('a'), called('b'), returned('a', 'p'), returned('b')]) {
          await store().note(line, ['pii'], note);
          states.push(await isComplete());
        }
        expect(states).toEqual([false, false, false, false, false, true]);
        await store().note(line, ['pii'], { ...returned('c'), isComplete: false });
        expect(await isComplete()).toBe(false);
      });

      it('keeps the first 4,000 fingerprints and is then incomplete', async () => {
        const line = aLine(fresh('run'));
        const prints = Array.from({ length: 4_000 }, (_, at) => `p${at}`);
        await store().note(line, ['pii'], returned('a', ...prints));
        expect((await store().compare(line, 'pii', ['p3999'])).isComplete).toBe(true);
        await store().note(line, ['pii'], returned('b', 'p1', 'more'));
        expect(await store().compare(line, 'pii', ['more'])).toEqual({ isComplete: false, found: [] });
      });

      it('stays incomplete for a label that was restored', async () => {
        const runId = fresh('run');
        await store().restore('acme', pagesOf([{ runId, label: 'pii', cause: aCause() }]));
        await store().note(aLine(runId), ['pii'], returned('a', 'p'));
        expect((await store().compare(aLine(runId), 'pii', ['p'])).isComplete).toBe(false);
      });

      it('ends with its label', async () => {
        const line = aLine(fresh('run'));
        await store().note(line, ['pii', 'web'], returned('a', 'p'));
        await store().clear(line, ['pii']);
        expect(await store().compare(line, 'pii', ['p'])).toEqual({ isComplete: false, found: [] });
        expect((await store().compare(line, 'web', ['p'])).found).toHaveLength(1);
      });
    });

    if (elapse === undefined) return;
    it('drops labels 7 days after they were last set or read', async () => {
      const line = aLine(fresh('run'));
      await labels().set(line, ['pii'], aCause());
      for (const days of [6, 6]) {
        await elapse(days * 86_400_000);
        expect((await labels().read(line)).size).toBe(1);
      }
      await elapse(7 * 86_400_000);
      expect((await labels().read(line)).size).toBe(0);
    });
  });
}
