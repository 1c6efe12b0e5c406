import {
  type AgentEvent,
  COMMANDS,
  EndedCall,
  type PriceBook,
  translateAgentLensEvent,
  translateHandlebarEvent,
} from '@agentlens/contracts';
import { EvaluateBody } from '@agentlens/contracts/schemas';
import { createMemoryBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BreakerRecorder } from '../src/breakers/breaker-recorder.ts';
import { LedgerWriter } from '../src/budgets/ledger-writer.ts';
import { EndedCalls } from '../src/decisions/ended-calls.ts';
import { StateRecorder } from '../src/states/state-recorder.ts';

const AT = '2026-03-01T12:00:00.000Z';
const logger = createLogger({ name: 'test', level: 'silent' });

/** An error of Postgres about the data. */
class Rejected extends Error {
  readonly code = '22P05';
}

/** For each item, whether its destination rejects it for ever. */
const items = fc.array(fc.boolean(), { minLength: 1, maxLength: 30 });
const nameOf = (n: number) => `item-${n}`;

function good(poison: readonly boolean[]): string[] {
  return poison.flatMap((isBad, n) => (isBad ? [] : [nameOf(n)]));
}

function bad(poison: readonly boolean[]): number {
  return poison.filter(Boolean).length;
}

describe('no single item stops a background loop', () => {
  it('of ended calls', async () => {
    await fc.assert(
      fc.asyncProperty(items, fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }), async (poison, odd) => {
        const bus = createMemoryBus();
        const reported: (string | undefined)[] = [];
        let dropped = 0;
        await bus.serve(COMMANDS.spendApprovals, async ({ calls }) => {
          reported.push(...calls.map(({ callId }) => callId));
          return { ok: true as const, value: { spent: 0 } };
        });
        const ended = new EndedCalls({ bus, logger, drops: { dropped: (_, count) => (dropped += count) } });
        const calls = poison.map((isBad, n) => ({ runId: 'run', callId: isBad ? `${odd}\u0001` : nameOf(n) }));
        await ended.report('acme', calls, 1_000);
        await ended.caughtUp('acme', 1_000);
        expect(new Set(reported)).toEqual(new Set(good(poison)));
        expect(dropped).toBe(bad(poison));
        await ended.stop();
        await bus.close();
      }),
    );
  });

  it('of rule states', async () => {
    await fc.assert(
      fc.asyncProperty(items, async (poison) => {
        const saved: string[] = [];
        let dropped = 0;
        const save = async (states: readonly { readonly agentId: string }[]) => {
          if (states.some(({ agentId }) => poison[Number(agentId.slice(5))])) throw new Rejected('no');
          saved.push(...states.map(({ agentId }) => agentId));
        };
        const recorder = new StateRecorder({ save }, { dropped: (_, count) => (dropped += count) }, logger);
        const state = { tenantId: 'acme', ruleId: 'rule', lastEvaluatedAt: AT, currentValue: 1, degradedReason: null };
        for (const n of poison.keys()) recorder.record({ ...state, agentId: nameOf(n) });
        await recorder.flush();
        expect(saved.toSorted()).toEqual(good(poison).toSorted());
        expect(dropped).toBe(bad(poison));
      }),
    );
  });

  it.each(['rejects', 'fails'] as const)('of breaker changes, if the database %s one', async (how) => {
    await fc.assert(
      fc.asyncProperty(items, async (poison) => {
        const recorded: string[] = [];
        let dropped = 0;
        const recorder = new BreakerRecorder({
          ...{ logger, now: () => Date.parse(AT), announce: () => undefined },
          store: { recorded: async () => undefined },
          repository: {
            record: async ({ scopeId }) => {
              if (poison[Number(scopeId.slice(5))]) throw how === 'rejects' ? new Rejected('no') : new Error('a bug');
              recorded.push(scopeId);
            },
          },
          drops: { dropped: (_, count) => (dropped += count) },
        });
        const change = { tenantId: 'acme', agentId: 'a', state: { kind: 'closed' as const }, version: 1 };
        for (const n of poison.keys()) recorder.record({ ...change, ref: { scope: 'run', scopeId: nameOf(n) } });
        for (let round = 0; round <= bad(poison) + 1; round++) await recorder.flush();
        expect(recorded.toSorted()).toEqual(good(poison).toSorted());
        await recorder.stop();
        expect(dropped).toBe(bad(poison));
      }),
    );
  });

  it('of the budget ledger', async () => {
    await fc.assert(
      fc.asyncProperty(items, async (poison) => {
        const written = new Set<string>();
        const unrecorded = async (tenantId: string) => {
          if (poison[Number(tenantId.slice(5))]) throw new Error('a bug');
          written.add(tenantId);
          return [];
        };
        const store = { unrecorded, recorded: async () => undefined };
        const ledger = new LedgerWriter(store, { record: async () => undefined }, () => [], logger);
        for (const n of poison.keys()) ledger.touch(nameOf(n));
        for (let round = 0; round <= bad(poison); round++) await ledger.flush();
        expect([...written].toSorted()).toEqual(good(poison).toSorted());
      }),
    );
  });
});

describe('an event that is accepted', () => {
  const callId = fc.string({ unit: 'binary', minLength: 1, maxLength: 128 });

  const NO_PRICES: PriceBook = { providerOf: () => undefined, quote: () => ({ unpriced: 'unknown_model' }) };

  function callOf({ runId, callId }: Pick<AgentEvent, 'runId' | 'callId'>) {
    return { runId, callId };
  }

  it('names a call that the dispatcher accepts, for any id', () => {
    fc.assert(
      fc.property(callId, (id) => {
        const payload = { callId: id, toolName: 'pay', error: 'e', durationMs: 1 };
        const raw = { agentId: 'a', sessionId: 's', eventType: 'tool_error', payload };
        const own = translateAgentLensEvent(raw, NO_PRICES, Date.parse(AT));
        const audit = { schema: 'handlebar.audit.v1', ts: AT, runId: 's', kind: 'tool.result', data: { callId: id } };
        const foreign = translateHandlebarEvent(audit, 'a', NO_PRICES, Date.parse(AT));
        for (const translation of [own, foreign]) {
          expect(translation.ok && EndedCall.safeParse(callOf(translation.event.facts)).success).toBe(true);
        }
        const asked = EvaluateBody.parse({ phase: 'tool.before', agentId: 'a', tool: { name: 'pay' }, callId: id });
        const ids = [own, foreign].map((translation) => translation.ok && translation.event.facts.callId);
        expect(ids).toEqual([asked.callId, asked.callId]);
      }),
    );
  });
});
