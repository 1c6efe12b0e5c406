import type { IncompleteLabels, LabelCause, LabelledLine, LabelStore, StandingLabel } from '@agentlens/guardrails';
import { describe, expect, it } from '@jest/globals';
import { fresh, START_MS } from './requests.ts';

const aLine = (...runIds: [string, ...string[]]): LabelledLine => ({ tenantId: 'acme', runIds });
const aCause = (fields: Partial<LabelCause> = {}): LabelCause => ({
  ...{ runId: 'r', agentId: 'crm', toolName: 'read "it"\n', callId: 'c1', atMs: START_MS },
  ...fields,
});

const pagesOf = async function* (...pages: StandingLabel[][]) {
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
