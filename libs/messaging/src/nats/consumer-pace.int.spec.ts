import { guardrailTriggered } from '@agentlens/contracts';
import { aTrigger, eventually, startNats, type TestServer } from '@agentlens/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { recorder } from '../contract/harness.contract.ts';
import type { EventBus } from '../event-bus.ts';
import { connectNatsBus } from './connect-nats-bus.ts';

/** So long a machine may stand still between a publish and the next. */
const PACE_MS = 3_000;

let server: TestServer;
let bus: EventBus;
beforeAll(async () => {
  server = await startNats();
  bus = await connectNatsBus({ servers: server.url, name: 'paced' });
});
afterAll(async () => {
  await bus.close();
  await server.stop();
});

it('handles at once what comes after quiet, and together what comes before the pace lets it', async () => {
  const group = recorder();
  await bus.consume(guardrailTriggered, { group: 'paced', maxBatch: 10, paceMs: PACE_MS }, group.handler);
  await bus.publish(guardrailTriggered, aTrigger());
  await eventually(() => expect(group.batches).toEqual([1]));
  for (let following = 0; following < 3; following++) await bus.publish(guardrailTriggered, aTrigger());
  await eventually(() => expect(group.batches).toEqual([1, 3]));
});
