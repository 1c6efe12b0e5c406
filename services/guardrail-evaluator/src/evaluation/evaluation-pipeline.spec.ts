import {
  type AgentEvent,
  type EventBatch,
  type GuardrailRule,
  guardrailTriggered,
  type Trigger,
} from '@agentlens/contracts';
import { activate, type CooldownStore, RuleBook, type WindowStore } from '@agentlens/guardrails';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createMemoryState, StateUnavailable } from '@agentlens/state';
import { aBatch, anEvent, aRule, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EvaluatorMetrics } from '../evaluator-metrics.ts';
import type { RuleStateRow } from '../states/state-recorder.ts';
import { EvaluationPipeline } from './evaluation-pipeline.ts';
import { TriggerPublisher } from './evaluation-steps.ts';
import { WindowGap } from './window-recovery.ts';

const clock = fixedClock();
const error = (fields: Partial<AgentEvent> = {}) => anEvent({ isError: true, severity: 'error', ...fields });

let bus: EventBus;
let triggers: Trigger[];
let states: RuleStateRow[];
let windows: WindowStore;
let cooldowns: CooldownStore;
let late: number;

beforeEach(async () => {
  bus = createMemoryBus();
  triggers = [];
  states = [];
  late = 0;
  ({ windows, cooldowns } = createMemoryState({ clock }));
  await bus.watch(guardrailTriggered, { from: 'new' }, ({ value }) => triggers.push(value));
});

afterEach(() => bus.close());

interface Ports {
  windowGap?: WindowGap;
  windows?: WindowStore;
  cooldowns?: Pick<CooldownStore, 'claim'>;
  bus?: EventBus;
}

function evaluatorOf(rules: readonly GuardrailRule[], ports: Ports = {}): EvaluationPipeline {
  const metrics = new EvaluatorMetrics();
  const active = rules.flatMap((rule) => {
    const result = activate(rule);
    return result.ok ? [result.value] : [];
  });
  const book = RuleBook.EMPTY.withTenants(Map.groupBy(active, ({ tenantId }) => tenantId));
  return new EvaluationPipeline({
    rules: { book },
    windows: ports.windows ?? windows,
    publisher: new TriggerPublisher(
      { rearm: (rearming) => cooldowns.rearm(rearming), claim: (claim) => (ports.cooldowns ?? cooldowns).claim(claim) },
      ports.bus ?? bus,
      metrics,
    ),
    states: { record: (state) => states.push(state) },
    metrics,
    drops: { dropped: (_, count) => (late += count) },
    clock,
    ...(ports.windowGap === undefined ? {} : { windowGap: ports.windowGap }),
  });
}

describe('EvaluationPipeline', () => {
  it('makes one trigger for a hundred matching events in one batch', async () => {
    const batch = aBatch({ events: Array.from({ length: 100 }, () => error()) });
    await evaluatorOf([aRule()]).evaluate(batch);
    expect(triggers).toHaveLength(1);
    expect(triggers[0]).toMatchObject({
      eventId: batch.events[0]?.id,
      agentId: 'agent-1',
      triggeredAt: batch.receivedAt,
    });
  });

  it('makes one trigger if three evaluators evaluate batches at the same time', async () => {
    const rules = [aRule()];
    const replicas = [1, 2, 3].map(() => evaluatorOf(rules));
    const batches = Array.from({ length: 24 }, () => aBatch({ events: [error(), error()] }));
    await Promise.all(batches.map((batch, i) => replicas[i % 3]?.evaluate(batch)));
    expect(triggers).toHaveLength(1);
  });

  it('triggers per agent', async () => {
    const events = ['a', 'b', 'c'].map((agentId) => error({ agentId }));
    await evaluatorOf([aRule()]).evaluate(aBatch({ events }));
    expect(triggers.map(({ agentId }) => agentId).sort()).toEqual(['a', 'b', 'c']);
  });

  it('touches no store if no rule matches the events', async () => {
    const untouchable: WindowStore = {
      marker: windows.marker,
      advance: () => Promise.reject(new Error('touched')),
      advanceAll: () => Promise.reject(new Error('touched')),
      read: () => Promise.reject(new Error('touched')),
      forget: () => Promise.reject(new Error('touched')),
    };
    await evaluatorOf([aRule({ agentId: 'other' })], { windows: untouchable }).evaluate(aBatch());
    expect(triggers).toEqual([]);
  });

  it('separates tenants whose agents have the same name', async () => {
    const evaluator = evaluatorOf([
      aRule({ tenantId: 'a' }),
      aRule({ tenantId: 'b', conditionConfig: { minEvents: 2 } }),
    ]);
    await evaluator.evaluate(aBatch({ tenantId: 'a', events: [error(), error(), error()] }));
    await evaluator.evaluate(aBatch({ tenantId: 'b', events: [anEvent()] }));
    await evaluator.evaluate(aBatch({ tenantId: 'b', events: [anEvent()] }));
    expect(triggers.map(({ tenantId }) => tenantId)).toEqual(['a']);
  });

  it('keeps the cooldown of a dry run apart from that of the real rule', async () => {
    const rule = aRule();
    await evaluatorOf([{ ...rule, dryRun: true }]).evaluate(aBatch({ events: [error()] }));
    await evaluatorOf([rule]).evaluate(aBatch({ events: [error()] }));
    expect(triggers.map(({ dryRun }) => dryRun)).toEqual([true, false]);
  });

  it('triggers again after the cooldown', async () => {
    const evaluator = evaluatorOf([aRule({ cooldownMinutes: 1 })]);
    const later = (ms: number) => {
      clock.advance(ms);
      const at = new Date(clock.now()).toISOString();
      return aBatch({ receivedAt: at, events: [error({ occurredAt: at })] });
    };
    await evaluator.evaluate(later(0));
    await evaluator.evaluate(later(59_000));
    await evaluator.evaluate(later(2_000));
    expect(triggers).toHaveLength(2);
  });

  it('counts all batches of an agent in a round in one step and makes the triggers of each', async () => {
    const steps: number[] = [];
    const counting = {
      marker: windows.marker,
      read: windows.read.bind(windows),
      forget: windows.forget.bind(windows),
      advance: windows.advance.bind(windows),
      advanceAll: (requests: Parameters<WindowStore['advanceAll']>[0]) => {
        steps.push(requests.length);
        return windows.advanceAll(requests);
      },
    };
    const rule = aRule({ cooldownMinutes: 0, conditionConfig: { threshold: 100, minEvents: 2 } });
    const batches = [1, 2, 3].map(() => aBatch({ events: [error()] }));
    await Promise.all(evaluatorOf([rule], { windows: counting }).begin(batches).done);
    expect(steps).toEqual([3]);
    expect(triggers.map(({ eventId }) => eventId)).toEqual(batches.slice(1).map(({ events }) => events[0]?.id));
  });

  it('records the measured values', async () => {
    const rule = aRule({ conditionConfig: { threshold: 60 } });
    const batch = aBatch({ events: [anEvent(), error()] });
    await evaluatorOf([rule]).evaluate(batch);
    expect(states).toEqual([
      {
        tenantId: 'acme',
        ruleId: rule.id,
        agentId: 'agent-1',
        lastEvaluatedAt: batch.receivedAt,
        currentValue: 50,
        degradedReason: null,
      },
    ]);
  });

  it('reports until when a rule measures too little after part of its window was lost', async () => {
    const windowGap = new WindowGap();
    windowGap.countedSince(clock.now() - 10 * 60_000);
    const rules = [5, 60].map((windowMinutes) => aRule({ conditionConfig: { threshold: 60, windowMinutes } }));
    await evaluatorOf(rules, { windowGap }).evaluate(aBatch({ events: [anEvent(), error()] }));
    expect(states.map(({ currentValue, degradedReason }) => [currentValue, degradedReason !== null])).toEqual([
      [50, false],
      [50, true],
    ]);
  });

  it('reports the gap even if the windows became complete while the trigger was being published', async () => {
    const windowGap = new WindowGap();
    windowGap.countedSince(clock.now());
    const slow: Pick<CooldownStore, 'claim'> = {
      claim(claim) {
        windowGap.countedSince(0);
        return cooldowns.claim(claim);
      },
    };
    await evaluatorOf([aRule()], { windowGap, cooldowns: slow }).evaluate(aBatch({ events: [error()] }));
    expect(triggers).toHaveLength(1);
    expect(states.map(({ degradedReason }) => degradedReason !== null)).toEqual([true]);
  });

  it('recounts without triggering, and counts nothing twice', async () => {
    const rule = aRule({ conditionConfig: { threshold: 100, minEvents: 2 } });
    const [lost, later] = [aBatch({ events: [error()] }), aBatch({ events: [error()] })];
    const evaluator = evaluatorOf([rule]);
    await evaluator.recount([lost, lost]);
    expect(triggers).toEqual([]);
    await evaluator.evaluate(lost);
    expect(triggers).toEqual([]);
    await evaluator.evaluate(later);
    expect(triggers.map(({ eventId }) => eventId)).toEqual([later.events[0]?.id]);
  });

  it('does not settle a batch while the store is unavailable', async () => {
    const away: WindowStore = { ...windows, advanceAll: () => Promise.reject(new StateUnavailable('advance', 'away')) };
    await expect(evaluatorOf([aRule()], { windows: away }).evaluate(aBatch())).rejects.toThrow(StateUnavailable);
  });

  it('makes the same triggers regardless of repetition and order of batches', async () => {
    const rules = [aRule({ cooldownMinutes: 0, conditionConfig: { threshold: 100, minEvents: 3 } })];
    const batches = Array.from({ length: 6 }, (_, i) => aBatch({ events: [error({ agentId: `a${i % 2}` })] }));
    const evaluator = evaluatorOf(rules);
    for (const batch of [...batches, ...batches].reverse()) await evaluator.evaluate(batch);
    for (const batch of batches) await evaluator.evaluate(batch);
    expect(triggers.map(({ agentId }) => agentId).sort()).toEqual(['a0', 'a1']);
  });
});

/** Simulates a process crash: completed steps persist, and the message is redelivered. */
class Killed extends Error {}

describe('a crash', () => {
  const rule = aRule({ conditionConfig: { threshold: 50, minEvents: 4 } });
  const batch = aBatch({ events: [error(), error(), error(), error()] });

  async function crashed(ports: Ports): Promise<void> {
    await expect(evaluatorOf([rule], ports).evaluate(batch)).rejects.toThrow(Killed);
  }

  /** Evaluates the batch again and checks that it was counted once. */
  async function redelivered(): Promise<void> {
    await evaluatorOf([rule]).evaluate(batch);
    expect(triggers).toHaveLength(1);
    expect(triggers[0]).toMatchObject({ eventId: batch.events[3]?.id, conditionValue: 100 });
    const [totals] = await windows.read('acme', 'agent-1', Date.parse(batch.receivedAt), [
      { metric: '%error_share', span: { kind: 'sliding', minutes: 5 }, shape: 'sum' },
    ]);
    expect(totals).toMatchObject({ count: 4, sum: 4 });
  }

  it('before counting loses nothing', async () => {
    await crashed({ windows: { ...windows, advanceAll: () => Promise.reject(new Killed()) } as WindowStore });
    await redelivered();
  });

  it('after counting neither counts twice nor loses the trigger', async () => {
    const advanceAll: WindowStore['advanceAll'] = async (requests) => {
      await windows.advanceAll(requests);
      throw new Killed();
    };
    await crashed({ windows: { ...windows, advanceAll } as WindowStore });
    await redelivered();
  });

  it('after claiming gets its own cooldown again', async () => {
    const claim: CooldownStore['claim'] = async (request) => {
      await cooldowns.claim(request);
      throw new Killed();
    };
    await crashed({ cooldowns: { claim } });
    await redelivered();
  });

  it('after publishing publishes nothing twice', async () => {
    const publish: EventBus['publish'] = async (topic, message) => {
      await bus.publish(topic, message);
      throw new Killed();
    };
    await crashed({ bus: { ...bus, publish } as EventBus });
    const [first] = triggers;
    await redelivered();
    expect(triggers[0]?.id).toBe(first?.id);
  });
});

describe('late events', () => {
  it('count each value that is too late for its window once, regardless of retries', async () => {
    const minutes = [1, 5, 60];
    const rules = minutes.map((windowMinutes, n) =>
      aRule({ id: `rule-${n}`, conditionConfig: { threshold: 100, windowMinutes, minEvents: 1 } }),
    );
    const ages = fc.array(fc.record({ ageMs: fc.nat({ max: 4_000_000 }), agentId: fc.constantFrom('a', 'b') }), {
      minLength: 1,
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(ages, { maxLength: 5 }), fc.array(fc.boolean()), async (batches, failing) => {
        late = 0;
        const state = createMemoryState({ clock });
        const answers = [...failing];
        const windows: WindowStore = {
          ...state.windows,
          marker: state.windows.marker,
          advance: (request) => state.windows.advance(request),
          read: (...asked) => state.windows.read(...asked),
          advanceAll: async (requests) => {
            const counted = await state.windows.advanceAll(requests);
            if (answers.shift() === true) throw new StateUnavailable('advance', new Error('away'));
            return counted;
          },
        };
        const evaluator = evaluatorOf(rules, { windows, cooldowns: state.cooldowns });
        const nowMs = clock.now();
        let expected = 0;
        for (const some of batches) {
          const events = some.map(({ ageMs, agentId }) =>
            anEvent({ agentId, occurredAt: new Date(nowMs - ageMs).toISOString() }),
          );
          const batch = aBatch({ events, receivedAt: new Date(nowMs).toISOString() });
          await untilEvaluated(evaluator, batch);
          // A window is the current bucket and the 59 before it.
          for (const { ageMs } of some) {
            for (const windowMinutes of minutes) {
              const bucketMs = windowMinutes * 1_000;
              const buckets = Math.floor(nowMs / bucketMs) - Math.floor((nowMs - ageMs) / bucketMs);
              if (buckets >= 60) expected += 1;
            }
          }
        }
        expect(late).toBe(expected);
      }),
    );
  });
});

async function untilEvaluated(evaluator: EvaluationPipeline, batch: EventBatch): Promise<void> {
  try {
    await evaluator.evaluate(batch);
  } catch (error) {
    if (!(error instanceof StateUnavailable)) throw error;
    await untilEvaluated(evaluator, batch);
  }
}
