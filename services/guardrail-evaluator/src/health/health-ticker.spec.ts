import { type GuardrailRule, guardrailTriggered, type Trigger } from '@agentlens/contracts';
import { activate, RuleBook } from '@agentlens/guardrails';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { createMemoryState } from '@agentlens/state';
import { aRule, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TriggerPublisher } from '../evaluation/evaluation-steps.ts';
import { EvaluatorMetrics } from '../evaluator-metrics.ts';
import type { RuleStateRow } from '../states/state-recorder.ts';
import { HealthTicker } from './health-ticker.ts';

const clock = fixedClock();
const healthRule = (fields: Partial<GuardrailRule> = {}) =>
  aRule({ conditionType: 'health_score_threshold', conditionConfig: { minScore: 50, windowDays: 7 }, ...fields });

let bus: EventBus;
let triggers: Trigger[];
let states: RuleStateRow[];

beforeEach(async () => {
  bus = createMemoryBus();
  triggers = [];
  states = [];
  await bus.watch(guardrailTriggered, { from: 'new' }, ({ value }) => triggers.push(value));
});
afterEach(() => bus.close());

function tickerOf(
  rules: readonly GuardrailRule[],
  scores: Record<string, number>,
  { cooldowns } = createMemoryState({ clock }),
) {
  const active = rules.flatMap((rule) => {
    const result = activate(rule);
    return result.ok ? [result.value] : [];
  });
  return new HealthTicker({
    rules: { book: RuleBook.EMPTY.withTenants(Map.groupBy(active, ({ tenantId }) => tenantId)) },
    scores: {
      of: async (tenantId) => {
        if (tenantId === 'broken') throw new Error('no answer');
        return new Map(Object.entries(scores));
      },
    },
    publisher: new TriggerPublisher(cooldowns, bus, new EvaluatorMetrics()),
    states: { record: (state) => states.push(state) },
    clock,
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
}

describe('HealthTicker', () => {
  it('triggers for every agent below the minimum score', async () => {
    await tickerOf([healthRule()], { ill: 20, well: 90, edge: 50 }).tick(clock.now());
    expect(triggers.map(({ agentId, conditionValue }) => [agentId, conditionValue])).toEqual([['ill', 20]]);
    expect(states.map(({ agentId, currentValue }) => [agentId, currentValue])).toEqual([
      ['ill', 20],
      ['well', 90],
      ['edge', 50],
    ]);
  });

  it('never triggers for an agent without data', async () => {
    await tickerOf([healthRule({ agentId: 'silent' })], { ill: 20 }).tick(clock.now());
    expect(triggers).toEqual([]);
    expect(states).toMatchObject([{ agentId: 'silent', currentValue: null }]);
  });

  it.each([0, 15])('makes one trigger from three replicas with a cooldown of %d minutes', async (cooldownMinutes) => {
    const shared = createMemoryState({ clock });
    const rule = healthRule({ cooldownMinutes });
    await Promise.all([1, 2, 3].map((ms) => tickerOf([rule], { ill: 20 }, shared).tick(clock.now() + ms)));
    expect(triggers).toHaveLength(1);
  });

  it('continues with other tenants if one fails', async () => {
    await tickerOf([healthRule({ tenantId: 'broken' }), healthRule({ tenantId: 'sound' })], { ill: 1 }).tick(
      clock.now(),
    );
    expect(triggers.map(({ tenantId }) => tenantId)).toEqual(['sound']);
  });
});
