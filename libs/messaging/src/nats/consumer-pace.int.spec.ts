import { guardrailTriggered } from '@agentlens/contracts';
import { aTrigger, eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { recorder } from '../contract/harness.contract.ts';
import { natsOfItsOwn } from './nats-of-its-own.testing.ts';

/** So long a machine may stand still between a publish and the next. */
const PACE_MS = 3_000;

describe('a consumer with a pace', () => {
  const { open } = natsOfItsOwn();

  it('handles at once what comes after quiet, and together what comes before the pace lets it', async () => {
    const bus = await open();
    const group = recorder();
    await bus.consume(guardrailTriggered, { group: 'paced', maxBatch: 10, paceMs: PACE_MS }, group.handler);
    await bus.publish(guardrailTriggered, aTrigger());
    await eventually(() => expect(group.batches).toEqual([1]));
    for (let following = 0; following < 3; following++) await bus.publish(guardrailTriggered, aTrigger());
    await eventually(() => expect(group.batches).toEqual([1, 3]));
  });
});
