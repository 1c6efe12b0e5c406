import { guardrailTriggered } from '@agentlens/contracts';
import { activate, type CooldownStore, RuleBook, type WindowStore } from '@agentlens/guardrails';
import type { EventBus } from '@agentlens/messaging';
import { createMemoryState } from '@agentlens/state';
import { aBatch, anEvent, aRule, fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EvaluatorMetrics } from '../evaluator-metrics.ts';
import { EvaluationPipeline } from './evaluation-pipeline.ts';
import { TriggerPublisher } from './evaluation-steps.ts';

class Killed extends Error {}
const STEPS = ['advance', 'claim', 'publish'] as const;
type Step = (typeof STEPS)[number];

const RULES = [
  aRule({ id: 'rate', conditionConfig: { threshold: 40, minEvents: 3 }, cooldownMinutes: 1 }),
  aRule({ id: 'every', conditionConfig: { threshold: 60 }, cooldownMinutes: 0 }),
  aRule({ id: 'cost', conditionType: 'cost_limit', conditionConfig: { maxCostUsd: 0.5, scope: 'session' } }),
];
const BOOK = RuleBook.EMPTY.withTenant(
  'acme',
  RULES.flatMap((rule) => {
    const active = activate(rule);
    return active.ok ? [active.value] : [];
  }),
);

/** A world in which the process crashes after a given step, with the step carried out. */
function world() {
  const clock = fixedClock();
  const { windows, cooldowns } = createMemoryState({ clock });
  const published = new Map<string, number>();
  let deaths: Step[] = [];
  const survive = <T>(step: Step, result: T): T => {
    if (deaths[0] !== step) return result;
    deaths = deaths.slice(1);
    throw new Killed();
  };
  const mortalWindows: WindowStore = {
    marker: windows.marker,
    advance: (request) => windows.advance(request),
    advanceAll: async (requests) => survive('advance', await windows.advanceAll(requests)),
    read: (...question) => windows.read(...question),
    forget: (...messages) => windows.forget(...messages),
  };
  const mortalCooldowns: Pick<CooldownStore, 'claim' | 'rearm'> = {
    claim: async (claim) => survive('claim', await cooldowns.claim(claim)),
    rearm: (rearming) => cooldowns.rearm(rearming),
  };
  const bus = {
    publish: async (topic: unknown, message: { id: string; conditionValue: number }) => {
      expect(topic).toBe(guardrailTriggered);
      const duplicate = published.has(message.id);
      // The stream keeps the first; a duplicate must have the same value.
      if (duplicate) expect(published.get(message.id)).toBe(message.conditionValue);
      published.set(message.id, message.conditionValue);
      return survive('publish', { sequence: published.size, duplicate });
    },
  } as unknown as EventBus;
  const metrics = new EvaluatorMetrics();
  const evaluator = new EvaluationPipeline({
    rules: { book: BOOK },
    windows: mortalWindows,
    publisher: new TriggerPublisher(mortalCooldowns, bus, metrics),
    states: { record: () => undefined },
    metrics,
    drops: { dropped: () => undefined },
    clock,
  });
  return {
    clock,
    published,
    /** Delivers a batch until it is settled. */
    deliver: async (batch: ReturnType<typeof aBatch>, dyingAt: readonly Step[]) => {
      deaths = [...dyingAt];
      for (;;) {
        try {
          await evaluator.evaluate(batch);
          deaths = [];
          return;
        } catch (error) {
          if (!(error instanceof Killed)) throw error;
        }
      }
    },
  };
}

const anyBatches = fc.array(
  fc.record({
    waitMs: fc.constantFrom(0, 500, 30_000, 61_000),
    deaths: fc.array(fc.constantFrom(...STEPS), { maxLength: 5 }),
    again: fc.boolean(),
    events: fc.array(
      fc.record({
        agentId: fc.constantFrom('a1', 'a2'),
        isError: fc.boolean(),
        cost: fc.constantFrom(0, 0.1, 0.3),
      }),
      { minLength: 1, maxLength: 6 },
    ),
  }),
  { maxLength: 8 },
);

describe('an evaluator that crashes repeatedly at any step', () => {
  it('makes the same triggers as one that never crashes', async () => {
    await fc.assert(
      fc.asyncProperty(anyBatches, async (plan) => {
        const [calm, mortal] = [world(), world()];
        for (const { waitMs, deaths, again, events } of plan) {
          calm.clock.advance(waitMs);
          mortal.clock.advance(waitMs);
          const at = new Date(calm.clock.now()).toISOString();
          const batch = aBatch({
            receivedAt: at,
            events: events.map(({ cost, ...fields }) =>
              anEvent({ ...fields, occurredAt: at, usage: { costUsd: cost } }),
            ),
          });
          await calm.deliver(batch, []);
          await mortal.deliver(batch, deaths);
          // Delivered again after it was settled: the acknowledgement was lost.
          if (again) await mortal.deliver(batch, []);
        }
        expect(mortal.published).toEqual(calm.published);
      }),
      { numRuns: 200 },
    );
  });
});
