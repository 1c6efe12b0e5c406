import {
  type AgentEvent,
  agentEvents,
  type BreakerChanged,
  breakerChanged,
  COMMANDS,
  type Decision,
  type DecisionRequest,
  decisionDecided,
} from '@agentlens/contracts';
import { aBatch, anEvent, eventually } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import { ask, replyValue } from './asking.ts';
import { type Harness, openHarness } from './harness.ts';

/**
 * Evaluators on real servers, and clients that ask them for decisions. Bound to the spec file that calls it: they start
 * and stop with its tests. All helpers use the newest tenant.
 */
export function decidingPlatform() {
  let harness: Harness;
  let tenantNumber = 0;
  let tenantId = '';
  const changes: BreakerChanged[] = [];
  const published: Decision[] = [];
  const running: { stop(): Promise<void> }[] = [];

  beforeAll(async () => {
    harness = await openHarness();
    await harness.bus.watch(breakerChanged, { from: 'new' }, ({ value }) => changes.push(value));
    await harness.bus.watch(decisionDecided, { from: 'new' }, ({ value }) => published.push(value));
  });
  afterAll(() => harness.close());
  const stopAll = async (): Promise<void> => {
    for (const replica of running.splice(0)) await replica.stop();
  };
  afterEach(stopAll);

  return {
    get harness() {
      return harness;
    },
    get tenantId() {
      return tenantId;
    },
    /** Breaker changes and decisions of all tenants so far. */
    changes,
    published,

    newTenant: (): void => {
      tenantNumber += 1;
      tenantId = `deciding-${tenantNumber}`;
    },

    /** Starts a replica, which is stopped at the latest after the test. */
    replica: async (change?: Parameters<Harness['replica']>[0]) => {
      const started = await harness.replica(change);
      running.push(started);
      return started;
    },

    /** Stops all running replicas. */
    stopAll,

    asking: (fields: Partial<DecisionRequest> = {}) => ask(harness.bus, { tenantId, ...fields }),

    limit: (scope: 'tenant' | 'agent' | 'run', scopeId: string, body: object) =>
      replyValue(harness.bus.request(COMMANDS.setBreakerLimits, { tenantId, scope, scopeId, body })),

    publish: (...events: AgentEvent[]) =>
      harness.bus.publish(agentEvents, aBatch({ tenantId, receivedAt: new Date().toISOString(), events })),

    runBreaker: async (runId = 'run-1', agentId = 'agent-1') => {
      const refs = [{ scope: 'run', scopeId: runId } as const];
      const { breakers } = await harness.state.breakers.read({ tenantId, agentId, refs });
      return breakers[0];
    },

    budget: (body: object) =>
      replyValue(
        harness.bus.request(COMMANDS.createBudget, {
          tenantId,
          body: { name: 'Money', scope: 'tenant', period: 'total', limitUsd: 1, ...body },
        }),
      ),

    /** Resolves when nothing is left to deliver, so that everything is counted. */
    settled: async (): Promise<void> => {
      await eventually(
        async () => {
          const { pending, unacknowledged } = await harness.bus.lag(agentEvents, 'guardrail-evaluator');
          expect({ pending, unacknowledged }).toEqual({ pending: 0, unacknowledged: 0 });
        },
        { timeoutMs: 25_000 },
      );
    },
  };
}

export function anEventOfTheRun(fields: Partial<AgentEvent> = {}): AgentEvent {
  return anEvent({ runId: 'run-1', occurredAt: new Date().toISOString(), ...fields });
}

export function aModelCall(fields: Partial<AgentEvent> = {}): AgentEvent {
  return anEventOfTheRun({ kind: 'llm.completed', usage: { totalTokens: 100, costUsd: 0.5 }, ...fields });
}
