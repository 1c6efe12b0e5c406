import { type Decision, type DecisionRequest, decisionDecided, type TranslatedEvent } from '@agentlens/contracts';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { fixedClock, type RecordedMeters, recordMeters } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DecisionGateway } from './decision-gateway.ts';
import { GatewayMetrics } from './gateway-metrics.ts';

const AT = '2026-03-01T12:00:00.000Z';
/** A decision, and an event in its run. */
const RECORDS_EACH = 2;

function aQuestion(runId: string): DecisionRequest {
  return {
    ...{ tenantId: 'acme', agentId: 'bot', runId, phase: 'tool.before', tool: { name: 'search', tags: [] }, args: {} },
    ...{ tags: {}, subjects: [], metrics: {}, deadlineMs: 1_000, receivedAt: AT },
  };
}

describe('the records of decisions that the gateway made', () => {
  let meters: RecordedMeters;
  let bus: EventBus;
  let gateway: DecisionGateway;
  let decisions: Decision[];
  let events: TranslatedEvent[];
  let recordEvent: (event: TranslatedEvent) => Promise<void>;
  beforeEach(async () => {
    meters = recordMeters();
    bus = createMemoryBus();
    decisions = [];
    events = [];
    recordEvent = async () => undefined;
    await bus.watch(decisionDecided, { from: 'new' }, ({ value }) => decisions.push(value));
    gateway = new DecisionGateway({
      bus,
      board: { stateOf: () => ({ kind: 'none', modelOverride: null }) },
      recorder: {
        record: async (_tenantId, event) => {
          await recordEvent(event);
          events.push(event);
        },
      },
      metrics: new GatewayMetrics('ingest'),
      clock: fixedClock(AT),
      path: { local: undefined },
      logger: createLogger({ name: 'decisions', level: 'silent' }),
    });
  });
  afterEach(async () => {
    await bus.close();
    meters.stop();
  });

  const ask = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, n) => gateway.decide(aQuestion(`run-${n}`), { failMode: 'allow' })));
  const bypassed = () => meters.total('agentlens_ingest_decisions_bypassed');
  const dropped = () => meters.total('agentlens_ingest_dropped', { what: 'bypass_record' });
  const missing = () => RECORDS_EACH * bypassed() - decisions.length - events.length;
  /** Makes publishing fail for these runs only. */
  const failPublishing = (...runs: string[]) => {
    const publish = bus.publish.bind(bus);
    bus.publish = async (topic, value, options) => {
      if (runs.includes((value as Decision).runId)) throw new Error('away');
      return publish(topic, value, options);
    };
  };

  it('are all written if nothing fails, and none is counted', async () => {
    await ask(3);
    await gateway.drain();
    expect([bypassed(), missing(), dropped()]).toEqual([3, 0, 0]);
  });

  it('are counted one by one if they could not be written', async () => {
    failPublishing('run-1', 'run-2');
    recordEvent = async ({ facts }) => {
      if (facts.runId === 'run-2' || facts.runId === 'run-3') throw new Error('away');
    };
    await ask(6);
    await gateway.drain();
    expect(missing()).toBe(4);
    expect(dropped()).toBe(missing());
  });

  it('are counted if too many are in progress', async () => {
    const held = Promise.withResolvers<void>();
    recordEvent = () => held.promise;
    await ask(1_003);
    expect(dropped()).toBe(3 * RECORDS_EACH);
    held.resolve();
    await gateway.drain();
    expect([events.length, decisions.length]).toEqual([1_000, 1_000]);
    expect(dropped()).toBe(missing());
    await ask(1);
    await gateway.drain();
    expect(dropped()).toBe(missing());
  });

  it('are awaited at shutdown, even if the other of the two has failed', async () => {
    failPublishing('run-0');
    const held = Promise.withResolvers<void>();
    recordEvent = () => held.promise;
    await ask(1);
    let drained = false;
    const draining = gateway.drain().then(() => (drained = true));
    await new Promise(setImmediate);
    expect(drained).toBe(false);
    held.resolve();
    await draining;
    expect(events).toHaveLength(1);
    expect(dropped()).toBe(missing());
  });
});
