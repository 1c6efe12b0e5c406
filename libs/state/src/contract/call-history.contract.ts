import type { CalledRun, CallHistory, EnteredCall } from '@agentlens/guardrails';
import { describe, expect, it } from '@jest/globals';
import { fresh, START_MS } from './requests.ts';

const aRun = (): CalledRun => ({ tenantId: 'acme', runId: fresh('run') });
const aCall = (callKey: string, fields: Partial<EnteredCall> = {}): EnteredCall => ({
  callKey,
  toolName: 'search',
  toolTags: ['web', 'read: only'],
  argsHash: `args-${callKey}`,
  atMs: START_MS,
  ...fields,
});

/** Contract of every CallHistory. */
export function callHistoryContract(name: string, calls: () => CallHistory): void {
  describe(`call history contract: ${name}`, () => {
    const keysOf = async (run: CalledRun) => (await calls().read(run)).map(({ callKey }) => callKey);

    it('returns earlier calls, oldest first', async () => {
      const run = aRun();
      expect(await calls().enter(run, aCall('a'))).toEqual([]);
      expect(await calls().enter(run, aCall('b'))).toEqual([{ ...aCall('a'), status: 'asked' }]);
      expect((await calls().enter(run, aCall('c'))).map(({ callKey }) => callKey)).toEqual(['a', 'b']);
    });

    it('stores a call once and answers a repeated question like the first time', async () => {
      const run = aRun();
      await calls().enter(run, aCall('a'));
      await calls().enter(run, aCall('b'));
      expect(await calls().enter(run, aCall('a', { toolName: 'other' }))).toEqual([]);
      expect(await calls().read(run)).toMatchObject([{ callKey: 'a', toolName: 'search' }, { callKey: 'b' }]);
    });

    it('keeps the calls of wider scopes apart from each other and from runs', async () => {
      const id = fresh('id');
      const keys = [
        { tenantId: 'acme', runId: id },
        { tenantId: 'acme', runId: `tree:${id}` },
        ...(['tree', 'session', 'agent', 'tenant'] as const).map((scope) => ({ tenantId: 'acme', scope, scopeId: id })),
        { tenantId: 'globex', scope: 'tree' as const, scopeId: id },
      ];
      for (const [at, key] of keys.entries()) expect(await calls().enter(key, aCall(`call-${at}`))).toEqual([]);
      const [, , tree] = keys;
      if (tree === undefined) throw new Error('no key');
      await calls().settle(tree, 'call-2', 'allowed');
      expect(await calls().complete(tree, { ...aCall('call-2'), resultHash: 'r' })).toEqual([]);
      const statuses = await Promise.all(
        keys.map(async (key) => (await calls().read(key)).map(({ status }) => status)),
      );
      expect(statuses).toEqual(keys.map((key) => [key === tree ? 'completed' : 'asked']));
    });

    it('gives concurrent calls one consistent order', async () => {
      const run = aRun();
      const seen = await Promise.all(Array.from({ length: 10 }, (_, i) => calls().enter(run, aCall(`call-${i}`))));
      expect(seen.map(({ length }) => length).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    });

    it('removes a refused call and keeps an allowed one', async () => {
      const run = aRun();
      await calls().enter(run, aCall('a'));
      await calls().enter(run, aCall('b'));
      await calls().settle(run, 'a', 'refused');
      await calls().settle(run, 'b', 'allowed');
      await calls().settle(run, 'b', 'refused');
      await calls().settle(run, 'unknown', 'allowed');
      expect(await calls().read(run)).toEqual([{ ...aCall('b'), status: 'allowed' }]);
    });

    it('stores a result once, even for a call without a question', async () => {
      const run = aRun();
      await calls().enter(run, aCall('a'));
      const done = { ...aCall('a'), resultHash: 'r1', durationMs: 12 };
      expect(await calls().complete(run, done)).toEqual([]);
      await calls().complete(run, { ...done, resultHash: 'r2' });
      const others = await calls().complete(run, { ...aCall('b'), resultHash: 'r3' });
      expect(others).toEqual([{ ...done, status: 'completed' }]);
      expect(await calls().read(run)).toEqual([
        { ...done, status: 'completed' },
        { ...aCall('b'), resultHash: 'r3', status: 'completed' },
      ]);
    });

    it('does not remove a completed call', async () => {
      const run = aRun();
      await calls().complete(run, { ...aCall('a'), resultHash: 'r' });
      await calls().settle(run, 'a', 'refused');
      expect(await keysOf(run)).toEqual(['a']);
    });

    it('treats the same key as a new call after the first has ended', async () => {
      const run = aRun();
      for (let n = 1; n <= 3; n++) {
        expect(await calls().enter(run, aCall('a'))).toHaveLength(n - 1);
        await calls().settle(run, 'a', 'allowed');
        expect(await calls().complete(run, { ...aCall('a'), resultHash: `r${n}` })).toHaveLength(n - 1);
      }
      await calls().enter(run, aCall('a'));
      await calls().settle(run, 'a', 'refused');
      const held = await calls().read(run);
      expect(held.map(({ status, resultHash }) => [status, resultHash])).toEqual([
        ['completed', 'r1'],
        ['completed', 'r2'],
        ['completed', 'r3'],
      ]);
    });

    it('completes the oldest open call of an id if its arguments were changed', async () => {
      const run = aRun();
      const named = (key: string, callId: string) => aCall(key, { callId });
      await calls().enter(run, named('other', 'b"'));
      await calls().enter(run, named('asked', 'b'));
      await calls().enter(run, named('later', 'b'));
      await calls().complete(run, { ...named('changed', 'b'), resultHash: 'r' });
      await calls().complete(run, { ...named('unknown', 'c'), resultHash: 'r' });
      const held = (await calls().read(run)).map(({ callKey, status }) => [callKey, status]);
      expect(held).toEqual([
        ...[
          ['other', 'asked'],
          ['asked', 'completed'],
          ['later', 'asked'],
          ['unknown', 'completed'],
        ],
      ]);
    });

    it('keeps the newest 1,000 calls', async () => {
      const run = aRun();
      for (let i = 0; i < 1003; i++) await calls().enter(run, aCall(`call-${i}`));
      const kept = await keysOf(run);
      expect([kept.length, kept[0], kept.at(-1)]).toEqual([1000, 'call-3', 'call-1002']);
    });

    it('separates runs and tenants, with any characters in their names', async () => {
      const run = { tenantId: 'acme', runId: fresh('r:{}\n"') };
      await calls().enter(run, aCall('a\n"{}', { toolName: 'x\ny' }));
      expect(await calls().read(run)).toMatchObject([{ callKey: 'a\n"{}', toolName: 'x\ny' }]);
      for (const other of [{ tenantId: 'globex' }, { runId: fresh('run') }, { runId: `${run.runId}:order` }]) {
        expect(await calls().read({ ...run, ...other })).toEqual([]);
      }
    });
  });
}
