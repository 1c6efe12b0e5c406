import { agentEvents, COMMANDS } from '@agentlens/contracts';
import type { Series } from '@agentlens/guardrails';
import { aBatch, anEvent, eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Harness, openHarness } from './harness.ts';

const ERRORS: Series = { metric: 'error_count', span: { kind: 'sliding', minutes: 60 }, shape: 'sum' };

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const counted = async () => {
  const [totals] = await harness.state.windows.read('acme', 'agent-1', Date.now(), [ERRORS]);
  return totals?.count;
};

async function erring(count: number): Promise<void> {
  const at = new Date().toISOString();
  const events = Array.from({ length: count }, () => anEvent({ isError: true, severity: 'error', occurredAt: at }));
  await harness.bus.publish(agentEvents, aBatch({ receivedAt: at, events }));
}

describe('after Redis lost its data', () => {
  it('every window is recounted with each event once, regardless of the number of evaluators', async () => {
    const replicas = await Promise.all([harness.replica(), harness.replica()]);
    await harness.bus.request(COMMANDS.createRule, {
      tenantId: 'acme',
      body: {
        name: 'Many errors in an hour',
        conditionType: 'custom_metric',
        conditionConfig: { metricName: 'error_count', operator: 'gte', value: 8, windowMinutes: 60 },
        actionType: 'pause_agent',
      },
    });
    await eventually(() => expect(replicas.map(({ evaluator }) => evaluator.rules.book.size)).toEqual([1, 1]));
    for (const errors of [1, 2, 2]) await erring(errors);
    await eventually(async () => expect(await counted()).toBe(5));
    await harness.flushRedis();
    await erring(1);
    await eventually(async () => expect(await counted()).toBe(6), { timeoutMs: 15_000 });
    expect(harness.triggers).toEqual([]);
    await erring(8);
    await eventually(() => expect(harness.triggers).toHaveLength(1));
    expect(await counted()).toBe(14);
  });
});
