import type { Session } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SessionUpdates } from './session-updates.ts';

/** Reads wait for `answer`, which decides whether the next one succeeds. */
function updatesOn() {
  const dropped = { session_change: 0, unread_session: 0 };
  const reads: { readonly runIds: readonly string[]; readonly answer: PromiseWithResolvers<void> }[] = [];
  const asked: PromiseWithResolvers<void>[] = [Promise.withResolvers<void>()];
  let shown = 0;
  const updates = new SessionUpdates({
    everyMs: 0,
    read: async (runIds) => {
      const answer = Promise.withResolvers<void>();
      reads.push({ runIds, answer });
      asked.push(Promise.withResolvers<void>());
      asked[reads.length - 1]?.resolve();
      await answer.promise;
      return runIds.map((id) => ({ id }) as unknown as Session);
    },
    show: () => (shown += 1),
    onError: () => undefined,
    onDropped: (what, count) => (dropped[what] += count),
  });
  return { updates, reads, dropped, shown: () => shown, readNumber: (n: number) => asked[n]?.promise };
}

describe('changed sessions of a stream', () => {
  it('are shown or counted as dropped, even if many arrive at once or a read fails', async () => {
    const additions = fc.array(fc.integer({ min: 1, max: 1_200 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(additions, fc.array(fc.boolean(), { minLength: 5 }), async (sizes, failing) => {
        const { updates, reads, dropped, shown, readNumber } = updatesOn();
        let changed = 0;
        for (const size of sizes) updates.add(Array.from({ length: size }, () => `run-${changed++}`));
        for (let n = 0; shown() + dropped.session_change + dropped.unread_session < changed; n++) {
          await readNumber(n);
          const { answer } = reads[n] as (typeof reads)[number];
          if (failing[n % failing.length] === true) answer.reject(new Error('Postgres is away'));
          else answer.resolve();
          await new Promise((resolve) => setImmediate(resolve));
        }
        updates.close();
        expect(dropped.session_change).toBe(Math.max(0, changed - 1_000));
        expect(shown() + dropped.session_change + dropped.unread_session).toBe(changed);
      }),
      { numRuns: 20 },
    );
  });
});
