import type { AgentEvent, EventBatch, GuardrailRule } from '@agentlens/contracts';
import { aBatch, anEvent, aRule } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { OPERATORS } from '../catalog/threshold.ts';
import { AGGREGATES } from '../conditions/custom-metric/custom-metric.ts';
import { type ActiveRule, activate } from '../rules/active-rule.ts';
import { RuleBook } from '../rules/rule-book.ts';
import { type Folding, fold } from './fold.ts';
import { NaiveEvaluator, type NaiveTrigger } from './naive-evaluator.testing.ts';
import { type EvaluationPlan, type Indexed, planAgent } from './plan.ts';
import { RecountingStore } from './recounting-store.testing.ts';

const NOON = Date.parse('2026-03-01T12:00:00.000Z');
const at = (offsetMs: number) => new Date(NOON + offsetMs).toISOString();

function bookOf(...rules: GuardrailRule[]): RuleBook {
  const active: ActiveRule[] = rules.map((rule) => {
    const result = activate(rule);
    if (!result.ok) throw new Error(result.reason);
    return result.value;
  });
  return [...new Set(rules.map(({ tenantId }) => tenantId))].reduce(
    (book, tenantId) =>
      book.withTenant(
        tenantId,
        active.filter((rule) => rule.tenantId === tenantId),
      ),
    RuleBook.EMPTY,
  );
}

function plans(book: RuleBook, batch: EventBatch): EvaluationPlan[] {
  const byAgent = Map.groupBy(
    batch.events.map((event, i): Indexed => [i, event]),
    ([, event]) => event.agentId,
  );
  return [...byAgent].flatMap(([agentId, events]) => planAgent(book, batch, agentId, events) ?? []);
}

function evaluate(book: RuleBook, store: RecountingStore, batch: EventBatch): Folding[] {
  return plans(book, batch).map((plan) => fold(plan, store.advance(plan.request)));
}

/** Runs the whole evaluation except publishing. */
function triggersOf(book: RuleBook, store: RecountingStore, batch: EventBatch): NaiveTrigger[] {
  return evaluate(book, store, batch)
    .flatMap(({ candidates }) => candidates)
    .filter(({ trigger: { id: triggerId, tenantId, agentId, ruleId, dryRun, cooldownMinutes } }) => {
      if (cooldownMinutes === 0) return true;
      const atMs = Date.parse(batch.receivedAt);
      const claim = { tenantId, agentId, ruleId, dryRun, triggerId, atMs, cooldownMs: cooldownMinutes * 60_000 };
      return store.claim(claim);
    })
    .map(({ trigger }) => ({
      id: trigger.id,
      ruleId: trigger.ruleId,
      eventId: trigger.eventId ?? '',
      value: trigger.conditionValue,
    }));
}

const byId = (triggers: readonly NaiveTrigger[]) => [...triggers].sort((a, b) => (a.id < b.id ? -1 : 1));
const error = (fields: Partial<AgentEvent> = {}) => anEvent({ isError: true, severity: 'error', ...fields });

const anyRule: fc.Arbitrary<GuardrailRule> = fc
  .record({
    tenantId: fc.constantFrom('t1', 't2'),
    agentId: fc.option(fc.constantFrom('a1', 'a2'), { nil: undefined }),
    cooldownMinutes: fc.constantFrom(0, 1, 15),
    version: fc.integer({ min: 1, max: 3 }),
    condition: fc.oneof(
      fc.record({
        conditionType: fc.constant('error_rate_threshold'),
        conditionConfig: fc.record({
          threshold: fc.constantFrom(0, 20, 33, 50, 100),
          windowMinutes: fc.constantFrom(1, 5, 60),
          minEvents: fc.integer({ min: 1, max: 5 }),
          of: fc.constantFrom('events', 'calls'),
        }),
      }),
      fc.record({
        conditionType: fc.constant('cost_limit'),
        conditionConfig: fc.record({
          maxCostUsd: fc.constantFrom(0, 0.3, 0.8, 2),
          scope: fc.constantFrom('session', 'daily'),
        }),
      }),
      fc.record({
        conditionType: fc.constant('custom_metric'),
        conditionConfig: fc.oneof(
          fc.record({
            metricName: fc.constant('tool_call_count'),
            value: fc.constantFrom(0, 2, 5),
            windowMinutes: fc.constantFrom(1, 5),
          }),
          fc.record({
            metricKeyPath: fc.constant('depth'),
            aggregate: fc.constantFrom(...AGGREGATES),
            operator: fc.constantFrom(...OPERATORS),
            value: fc.constantFrom(-1, 0, 0.3, 2, 3),
            windowMinutes: fc.constantFrom(1, 5),
          }),
        ),
      }),
    ),
  })
  .map(({ condition, ...fields }) => aRule({ ...fields, ...condition }));

const KINDS = ['tool.called', 'tool.completed', 'error.raised', 'run.ended', 'custom.recorded'] as const;

const freshEvent: fc.Arbitrary<AgentEvent> = fc
  .record({
    agentId: fc.constantFrom('a1', 'a2', 'a3'),
    runId: fc.constantFrom('r1', 'r2'),
    kind: fc.constantFrom(...KINDS),
    isError: fc.boolean(),
    offsetMs: fc.oneof(
      fc.integer({ min: -400_000, max: 90_000 }),
      fc.constantFrom(-60_000, -59_999, -86_400_000, 0, -43_200_000),
    ),
    cost: fc.option(fc.constantFrom(0, 0.1, 0.2, 0.7), { nil: undefined }),
    depth: fc.option(fc.oneof(fc.integer({ min: -3, max: 4 }), fc.constantFrom(0.1, 0.2, 900.5)), { nil: undefined }),
  })
  .map(({ offsetMs, cost, depth, ...fields }) =>
    anEvent({
      ...fields,
      occurredAt: at(offsetMs),
      ...(cost === undefined ? {} : { usage: { costUsd: cost } }),
      metadata: depth === undefined ? {} : { depth },
    }),
  );

/** A retried event is identical to the first one: its content is derived from its id. */
const retriedEvent: fc.Arbitrary<AgentEvent> = fc.integer({ min: 1, max: 12 }).map((n) =>
  anEvent({
    id: `retry-${n}`,
    retryable: true,
    agentId: `a${(n % 3) + 1}`,
    kind: n % 2 === 0 ? 'tool.called' : 'custom.recorded',
    isError: n % 5 < 2,
    occurredAt: at(-n * 7_000),
    usage: { costUsd: n / 10 },
    metadata: { depth: n % 4 },
  }),
);

const anyEvent = fc.oneof({ weight: 3, arbitrary: freshEvent }, { weight: 1, arbitrary: retriedEvent });

const anyHistory = fc.array(
  fc.record({
    tenantId: fc.constantFrom('t1', 't2'),
    waitMs: fc.constantFrom(0, 1, 900, 20_000, 70_000),
    events: fc.array(anyEvent, { minLength: 1, maxLength: 12 }),
  }),
  { maxLength: 8 },
);

function batchesOf(history: readonly { tenantId: string; waitMs: number; events: AgentEvent[] }[]): EventBatch[] {
  let nowMs = NOON;
  return history.map(({ tenantId, waitMs, events }) => {
    nowMs += waitMs;
    return aBatch({ tenantId, events, receivedAt: new Date(nowMs).toISOString() });
  });
}

describe('evaluation of batches', () => {
  it('equals recounting and evaluating every event on its own', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 8 }), anyHistory, (rules, history) => {
        const [book, store, naive] = [bookOf(...rules), new RecountingStore(), new NaiveEvaluator()];
        for (const batch of batchesOf(history)) {
          expect(byId(triggersOf(book, store, batch))).toEqual(byId(naive.evaluate(rules, batch)));
        }
      }),
      { numRuns: 400 },
    );
  });

  it('gives the same triggers when batches are redelivered', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 6 }), anyHistory, (rules, history) => {
        const batches = batchesOf(history);
        const book = bookOf(...rules);
        const [once, often] = [new RecountingStore(), new RecountingStore()];
        const expected = batches.map((batch) => byId(triggersOf(book, once, batch)));
        const actual = batches.map((batch) => {
          const first = byId(triggersOf(book, often, batch));
          expect(byId(triggersOf(book, often, batch))).toEqual(first);
          return first;
        });
        expect(actual).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });
});

describe('fold', () => {
  it('creates one trigger for a hundred matching events', () => {
    const batch = aBatch({ events: Array.from({ length: 100 }, () => error()) });
    const [folding] = evaluate(bookOf(aRule()), new RecountingStore(), batch);
    expect(folding?.candidates).toHaveLength(1);
    expect(folding?.candidates[0]?.trigger).toMatchObject({
      eventId: batch.events[0]?.id,
      conditionValue: 100,
      message: 'Error rate 100.0% exceeds threshold 30%',
      triggeredAt: batch.receivedAt,
    });
    expect(folding?.stops).toEqual({ cooling: 99 });
  });

  it('creates a trigger for every matching event without a cooldown', () => {
    const batch = aBatch({ events: [error(), error(), error()] });
    const [folding] = evaluate(bookOf(aRule({ cooldownMinutes: 0 })), new RecountingStore(), batch);
    expect(folding?.candidates.map(({ trigger }) => trigger.eventId)).toEqual(batch.events.map(({ id }) => id));
  });

  it('reports why evaluation stopped', () => {
    const store = new RecountingStore();
    const rules = [
      aRule({ conditionConfig: { threshold: 60 } }),
      aRule({ conditionConfig: { minEvents: 10 } }),
      aRule({ conditionType: 'custom_metric', conditionConfig: { metricKeyPath: 'depth' } }),
    ];
    const retried = anEvent({ retryable: true });
    const [folding] = evaluate(bookOf(...rules), store, aBatch({ events: [retried] }));
    expect(folding?.stops).toEqual({ threshold_not_met: 1, no_data: 1, not_concerned: 1 });
    const [again] = evaluate(bookOf(...rules), store, aBatch({ events: [retried] }));
    expect(again?.stops).toEqual({ duplicate_event: 3 });
  });

  it('counts and triggers per agent', () => {
    const batch = aBatch({ events: [error({ agentId: 'a1' }), error({ agentId: 'a2' })] });
    const foldings = evaluate(bookOf(aRule()), new RecountingStore(), batch);
    expect(foldings.flatMap(({ candidates }) => candidates.map(({ trigger }) => trigger.agentId))).toEqual([
      'a1',
      'a2',
    ]);
  });

  it('isolates tenants whose agents have the same name', () => {
    const store = new RecountingStore();
    const book = bookOf(aRule({ tenantId: 't1' }), aRule({ tenantId: 't2', conditionConfig: { minEvents: 2 } }));
    evaluate(book, store, aBatch({ tenantId: 't1', events: Array.from({ length: 9 }, () => error()) }));
    const [folding] = evaluate(book, store, aBatch({ tenantId: 't2', events: [anEvent()] }));
    expect(folding?.stops).toEqual({ no_data: 1 });
  });

  it('keeps the trigger of a redelivered batch that already holds its cooldown', () => {
    const batch = aBatch({ events: [anEvent({ occurredAt: at(-1) }), error()] });
    const [plan] = plans(bookOf(aRule()), batch);
    if (plan === undefined) throw new Error('expected a plan');
    const fresh = { before: [], duplicates: [], cooling: [null] };
    const id = fold(plan, fresh).candidates[0]?.trigger.id ?? '';
    expect(
      fold(plan, { ...fresh, cooling: [{ triggerId: id, atMs: plan.request.nowMs }] }).candidates[0]?.trigger.id,
    ).toBe(id);
    expect(fold(plan, { ...fresh, cooling: [{ triggerId: 'another', atMs: plan.request.nowMs }] }).candidates).toEqual(
      [],
    );
  });

  it('isolates a rule that throws', () => {
    const throwing = {
      ...activeOf(aRule({ id: 'broken' })),
      measure: () => {
        throw new Error('division by cucumber');
      },
    } as unknown as ActiveRule;
    const book = RuleBook.EMPTY.withTenant('acme', [throwing, activeOf(aRule({ id: 'sound' }))]);
    const [folding] = evaluate(book, new RecountingStore(), aBatch({ events: [error(), error()] }));
    expect(folding?.candidates.map(({ rule }) => rule.id)).toEqual(['sound']);
    expect(folding?.degraded).toEqual([{ rule: throwing, reason: 'division by cucumber' }]);
    expect(folding?.stops).toEqual({ degraded: 2, cooling: 1 });
  });

  it('returns the newest value of every rule', () => {
    const batch = aBatch({ events: [anEvent(), error()] });
    const [folding] = evaluate(bookOf(aRule({ conditionConfig: { threshold: 100 } })), new RecountingStore(), batch);
    expect(folding?.readings.map(({ value }) => value)).toEqual([50]);
  });
});

function activeOf(rule: GuardrailRule): ActiveRule {
  const result = activate(rule);
  if (!result.ok) throw new Error(result.reason);
  return result.value;
}

describe('planAgent', () => {
  it('plans nothing if no rule listens', () => {
    const toolRule = aRule({ conditionType: 'custom_metric', conditionConfig: { metricName: 'tool_call_count' } });
    expect(plans(bookOf(toolRule), aBatch())).toEqual([]);
    expect(plans(bookOf(aRule({ agentId: 'other' })), aBatch())).toEqual([]);
    expect(plans(RuleBook.EMPTY, aBatch())).toEqual([]);
  });

  it('adds an event to its own series, regardless of the previous event', () => {
    const costs = aRule({ conditionType: 'cost_limit', conditionConfig: { scope: 'session' } });
    const depth = aRule({ conditionType: 'custom_metric', conditionConfig: { metricKeyPath: 'depth' } });
    const usage = { costUsd: 1 };
    const events = ['r1', 'r2', 'r1'].map((runId, i) =>
      anEvent({ runId, usage, metadata: i === 1 ? {} : { depth: i } }),
    );
    const [plan] = plans(bookOf(costs, depth), aBatch({ events }));
    const added = plan?.request.increments.map(({ series, event, value }) => {
      const { metric, span } = plan.request.series[series] ?? {};
      return `${event}: ${span?.kind === 'run' ? span.runId : metric} ${value}`;
    });
    expect(added?.sort()).toEqual(['0: path:depth 0', '0: r1 1', '1: r2 1', '2: path:depth 2', '2: r1 1']);
  });

  it('shares a series between rules that need the same', () => {
    const metric = (aggregate: string) =>
      aRule({ conditionType: 'custom_metric', conditionConfig: { metricName: 'event_count', aggregate } });
    const [plan] = plans(bookOf(aRule(), aRule(), metric('sum'), metric('count'), metric('p95')), aBatch());
    expect(plan?.request.series.map(({ metric: name, shape }) => `${name} ${shape}`).sort()).toEqual([
      '%error_share sum',
      'event_count quantiles',
      'event_count sum',
    ]);
  });

  it('measures a rule independently of other rules', () => {
    const store = new RecountingStore();
    const count = aRule({ conditionType: 'custom_metric', conditionConfig: { metricName: 'error_count', value: 99 } });
    evaluate(bookOf(count), store, aBatch({ events: [error(), error(), error()] }));
    const [folding] = evaluate(bookOf(count, aRule()), store, aBatch({ events: [anEvent()] }));
    expect(folding?.candidates).toEqual([]);
  });

  it('counts an event once if a batch contains it twice', () => {
    const twice = error({ retryable: true });
    const [plan] = plans(bookOf(aRule()), aBatch({ events: [twice, twice] }));
    expect(plan?.request.retryable).toHaveLength(1);
  });

  it('moves an event from a fast clock to the arrival of its batch', () => {
    const [plan] = plans(bookOf(aRule()), aBatch({ receivedAt: at(0), events: [anEvent({ occurredAt: at(60_000) })] }));
    expect(plan?.request.increments[0]?.atMs).toBe(NOON);
  });

  it('recognizes a retried event from a fast clock by its reported time', () => {
    const event = anEvent({ retryable: true, occurredAt: at(60_000) });
    const seenAt = [0, 30_000].map((offsetMs) => {
      const [plan] = plans(bookOf(aRule()), aBatch({ receivedAt: at(offsetMs), events: [event] }));
      return plan?.request.retryable[0]?.atMs;
    });
    expect(seenAt).toEqual([NOON + 60_000, NOON + 60_000]);
  });

  it('requests no cooldown for a rule without one', () => {
    const [plan] = plans(bookOf(aRule({ cooldownMinutes: 0 })), aBatch());
    expect(plan?.request.cooldowns).toEqual([]);
  });
});
