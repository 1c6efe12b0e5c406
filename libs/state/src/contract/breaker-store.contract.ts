import {
  type Breaker,
  type BreakerChange,
  type BreakerRef,
  type BreakerStore,
  CLOSED_BREAKER,
  checkBreaker,
  DEFAULT_BREAKER_LIMITS,
  recordUsage,
  type StoredBreaker,
  tripBreaker,
} from '@agentlens/guardrails';
import { describe, expect, it } from '@jest/globals';
import { fresh, START_MS } from './requests.ts';

const changeOf = (ref: BreakerRef, { revision, version }: StoredBreaker, breaker: Breaker): BreakerChange => ({
  ref,
  revision,
  breaker,
  version,
  forgetAsked: false,
});

/** Contract of every BreakerStore. */
export function breakerStoreContract(name: string, breakers: () => BreakerStore): void {
  describe(`breaker store contract: ${name}`, () => {
    const TENANT = 'acme';
    const run = (scopeId = fresh('run')): BreakerRef => ({ scope: 'run', scopeId });
    const read = async (agentId: string, ref: BreakerRef): Promise<StoredBreaker> => {
      const { breakers: stored } = await breakers().read({ tenantId: TENANT, agentId, refs: [ref] });
      if (!stored[0]) throw new Error('not answered');
      return stored[0];
    };

    /** Adds usage like the evaluator: retries until no concurrent write interferes. */
    async function record(agentId: string, ref: BreakerRef, tokens: number): Promise<void> {
      for (;;) {
        const stored = await read(agentId, ref);
        const breaker = recordUsage(stored.breaker, { tokens }, START_MS);
        if (await breakers().write(TENANT, agentId, [changeOf(ref, stored, breaker)])) return;
      }
    }

    it('returns a closed breaker if nothing is stored', async () => {
      expect(await read(fresh('agent'), run())).toEqual({
        breaker: CLOSED_BREAKER,
        asked: { tokens: 0, costUsd: 0, iterations: 0 },
        revision: 0,
        version: 0,
        recordedVersion: 0,
      });
    });

    it('stores a breaker completely', async () => {
      const [agentId, ref] = [fresh('agent'), run()];
      const used = recordUsage(CLOSED_BREAKER, { tokens: 7, costUsd: 0.1, confidence: 0.25, outcome: 'failure' }, 0);
      const open = tripBreaker(used, 'failures', START_MS);
      await breakers().write(TENANT, agentId, [{ ...changeOf(ref, await read(agentId, ref), open), version: 5 }]);
      expect(await read(agentId, ref)).toMatchObject({ breaker: open, revision: 1, version: 5, recordedVersion: 0 });
      await breakers().recorded(TENANT, agentId, ref, 5);
      await breakers().recorded(TENANT, agentId, ref, 4);
      expect(await read(agentId, ref)).toMatchObject({ breaker: open, revision: 1, version: 5, recordedVersion: 5 });
    });

    it('loses nothing when many callers count concurrently', async () => {
      const [agentId, ref] = [fresh('agent'), run()];
      await Promise.all(Array.from({ length: 10 }, () => record(agentId, ref, 3)));
      expect((await read(agentId, ref)).breaker.usage.tokens).toBe(30);
    });

    it('writes all changes of a call or none', async () => {
      const [agentId, one, two] = [fresh('agent'), run(), run()];
      await record(agentId, two, 1);
      const open = tripBreaker(CLOSED_BREAKER, 'operator', START_MS);
      const stale = [
        changeOf(one, await read(agentId, one), open),
        { ...changeOf(two, await read(agentId, one), open) },
      ];
      expect(await breakers().write(TENANT, agentId, stale, [{ id: 'event', atMs: START_MS }])).toBe(false);
      expect((await read(agentId, one)).revision).toBe(0);
      const { counted } = await breakers().read({
        tenantId: TENANT,
        agentId,
        refs: [one],
        events: [{ id: 'event', atMs: START_MS }],
      });
      expect(counted).toEqual([]);
    });

    it('lets exactly one of many callers be the probe', async () => {
      const [agentId, ref] = [fresh('agent'), run()];
      const limits = { ...DEFAULT_BREAKER_LIMITS, probeAfterSeconds: 60 };
      const open = tripBreaker(CLOSED_BREAKER, 'cost', START_MS);
      await breakers().write(TENANT, agentId, [changeOf(ref, await read(agentId, ref), open)]);
      const ask = async (by: string): Promise<boolean> => {
        for (;;) {
          const stored = await read(agentId, ref);
          const answer = checkBreaker(stored.breaker, limits, START_MS + 60_000, { by });
          if (answer.breaker === stored.breaker) return answer.allowed;
          if (await breakers().write(TENANT, agentId, [changeOf(ref, stored, answer.breaker)])) return answer.allowed;
        }
      };
      const allowed = await Promise.all(Array.from({ length: 10 }, (_, i) => ask(`caller-${i}`)));
      expect(allowed.filter(Boolean)).toHaveLength(1);
    });

    it('adds usage that comes with a question, once per question', async () => {
      const [agentId, ref] = [fresh('agent'), run()];
      const refs = [ref, { scope: 'agent', scopeId: agentId } as const];
      const ask = (tokens: number, once?: string) =>
        breakers().read({
          tenantId: TENANT,
          agentId,
          refs,
          adding: { at: 0, usage: { tokens, costUsd: 0.25, iterations: 1 }, ...(once === undefined ? {} : { once }) },
        });
      await ask(10, 'a');
      await ask(10, 'a');
      await ask(5);
      const { breakers: stored } = await ask(5);
      expect(stored[0]?.asked).toEqual({ tokens: 20, costUsd: 0.75, iterations: 3 });
      expect(stored[1]?.asked).toEqual({ tokens: 0, costUsd: 0, iterations: 0 });
    });

    it('resets that usage when the count restarts', async () => {
      const [agentId, ref] = [fresh('agent'), run()];
      const usage = { tokens: 10, costUsd: 1, iterations: 1 };
      const { breakers: stored } = await breakers().read({
        tenantId: TENANT,
        agentId,
        refs: [ref],
        adding: { at: 0, usage },
      });
      if (!stored[0]) throw new Error('not answered');
      const change = { ...changeOf(ref, stored[0], CLOSED_BREAKER), forgetAsked: true };
      expect(await breakers().write(TENANT, agentId, [change])).toBe(true);
      expect((await read(agentId, ref)).asked).toEqual({ tokens: 0, costUsd: 0, iterations: 0 });
    });

    it('recognizes events that were counted', async () => {
      const [agentId, ref] = [fresh('agent'), run()];
      const events = [1, 2, 3].map((n) => ({ id: `event-${n}`, atMs: START_MS + n * 600_000 }));
      const stored = await read(agentId, ref);
      await breakers().write(
        TENANT,
        agentId,
        [changeOf(ref, stored, CLOSED_BREAKER)],
        [events[0], events[2]].flatMap((e) => e ?? []),
      );
      const ask = (agent: string) => breakers().read({ tenantId: TENANT, agentId: agent, refs: [ref], events });
      expect((await ask(agentId)).counted).toEqual([0, 2]);
      expect((await ask(fresh('agent'))).counted).toEqual([]);
    });

    it('keeps breakers of run trees for all agents, apart from those of the same run', async () => {
      const [one, other] = [fresh('agent'), fresh('agent')];
      const [tree, ofRun] = [{ scope: 'tree', scopeId: fresh('run') } as const, run()];
      const joined = { ...CLOSED_BREAKER, joinedTo: 'top' };
      const events = [{ id: fresh('event'), atMs: START_MS }];
      expect(await breakers().write(TENANT, one, [changeOf(tree, await read(one, tree), joined)], events)).toBe(true);
      await breakers().recorded(TENANT, other, tree, 3);
      expect(await read(other, tree)).toMatchObject({ breaker: joined, revision: 1, recordedVersion: 3 });
      expect((await read(one, { ...ofRun, scopeId: tree.scopeId })).revision).toBe(0);
      const counted = async (ref: BreakerRef) =>
        (await breakers().read({ tenantId: TENANT, agentId: other, refs: [ref], events })).counted;
      expect(await counted(tree)).toEqual([0]);
      expect(await counted(ofRun)).toEqual([]);
    });

    it('remembers which tenants ask for decisions', async () => {
      const tenantId = fresh('tenant');
      expect(await breakers().watched(tenantId)).toBe(false);
      await breakers().watch(tenantId);
      expect(await breakers().watched(tenantId)).toBe(true);
    });
  });
}
