import { type DeliverySettled, deliverySettled, guardrailTriggered, HOUR_MS, type Trigger } from '@agentlens/contracts';
import type { Subscription } from '@agentlens/messaging';
import {
  aTrigger,
  eventually,
  type RecordedMeters,
  type RecordingServer,
  recordingServer,
  recordMeters,
} from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Dispatching, firedBy } from './dispatching.ts';
import { withReceiver } from './with-receiver.ts';

/** A notification that could not be attempted for this long is given up. */
const STALE_MS = 72 * HOUR_MS + 1;

describe('actions that are given up', () => {
  let world: Dispatching;
  let receiver: RecordingServer;
  let meters: RecordedMeters;
  let watch: Subscription;
  let facts: DeliverySettled[];
  withReceiver((its, receiving) => {
    [world, receiver] = [its, receiving];
  });
  beforeEach(async () => {
    meters = recordMeters();
    facts = [];
    watch = await world.bus.watch(deliverySettled, {}, ({ value }) => facts.push(value));
  });
  afterEach(async () => {
    await watch.close();
    meters.stop();
  });

  async function aTriggerOf(actionType: string, actionConfig: Record<string, unknown> = {}): Promise<Trigger> {
    return aTrigger(firedBy(await world.rule({ actionType, actionConfig, cooldownMinutes: 0 })));
  }
  async function fire(actionType: string, actionConfig: Record<string, unknown> = {}): Promise<Trigger> {
    const trigger = await aTriggerOf(actionType, actionConfig);
    await world.bus.publish(guardrailTriggered, trigger);
    return trigger;
  }
  const hook = (path: string, url = receiver.url) => fire('notify_webhook', { url: `${url}/${path}` });
  const idsOf = (triggers: readonly Trigger[]) => triggers.map(({ id }) => id).sort();
  const given = (labels: { action?: string; why?: string } = {}) =>
    meters.total('agentlens.deliveries.given_up', labels);
  /**
   * Ids of the deliveries that ended without success. Complete, because all dispatchers have stopped and published
   * their facts.
   */
  async function failed(): Promise<string[]> {
    await world.stopAll();
    return [...new Set(facts.flatMap(({ triggerId, result }) => (result === 'failed' ? [triggerId] : [])))].sort();
  }

  it('are counted once each if the receiver rejects them or is disabled', async () => {
    const statuses = [200, 410];
    receiver.answer((_request, response) => response.writeHead(statuses.shift() ?? 200).end());
    await Promise.all([world.start(), world.start()]);
    await world.settled(await hook('hook'), 'success');
    const ended: Trigger[] = [];
    for (let n = 0; n < 3; n++) {
      const trigger = await hook('hook');
      await world.settled(trigger, 'failed');
      ended.push(trigger);
    }
    expect(await failed()).toEqual(idsOf(ended));
    expect(given()).toBe(ended.length);
    expect([given({ why: 'rejected' }), given({ why: 'disabled' })]).toEqual([1, 2]);
  });

  it('are counted once each after their last attempt, not for earlier attempts', async () => {
    const calls = new Map<string, number>();
    receiver.answer(({ path }, response) => {
      const call = (calls.get(path) ?? 0) + 1;
      calls.set(path, call);
      response.writeHead(path === '/late' && call === 8 ? 200 : 404).end();
    });
    await Promise.all([world.start(), world.start()]);
    const [late, ...never] = [await hook('late'), await hook('never'), await hook('nowhere')];
    for (let n = 1; n <= 8; n++) {
      expect(given()).toBe(0);
      for (const trigger of [late, ...never]) {
        await eventually(async () => expect(await world.delivery(trigger)).toMatchObject({ attempts: n }));
      }
      const { next_attempt_at } = await world.delivery(late);
      if (next_attempt_at !== null) world.clock.set(next_attempt_at);
    }
    expect(await world.history(late)).toMatchObject({ action_result: 'success' });
    expect(await failed()).toEqual(idsOf(never));
    expect([given(), given({ action: 'notify_webhook', why: 'out_of_attempts' })]).toEqual([2, 2]);
  });

  it('are counted once each if their breaker was open for too long, and not while they wait', async () => {
    const gone = await recordingServer();
    await gone.close();
    await world.start();
    const triggers: Trigger[] = [];
    for (let n = 0; n < 5; n++) triggers.push(await hook('down', gone.url));
    for (const trigger of triggers) await world.settled(trigger, 'retrying');
    for (let n = 0; n < 4; n++) triggers.push(await hook('down', gone.url));
    for (const trigger of triggers.slice(5)) {
      await eventually(async () =>
        expect(await world.delivery(trigger)).toMatchObject({ attempts: 0, detail: expect.stringMatching(/waiting/) }),
      );
    }
    expect(given()).toBe(0);

    world.clock.advance(STALE_MS);
    // One of them is the breaker's probe, which is attempted.
    await eventually(async () => {
      const rows = await Promise.all(triggers.map((trigger) => world.history(trigger)));
      const having = (result: string) => rows.filter((row) => row?.action_result === result).length;
      expect([having('failed'), having('retrying')]).toEqual([8, 1]);
    });
    expect(await failed()).toHaveLength(8);
    expect([given(), given({ action: 'notify_webhook', why: 'waited_too_long' })]).toEqual([8, 8]);
  });

  it('are counted once each if there is nothing to carry out: an unknown action, trigger or rule', async () => {
    const forgotten = await aTriggerOf('pause_agent');
    await world.recorder().record(forgotten);
    await world.db.deleteFrom('guardrail_triggers').where('trigger_id', '=', forgotten.id).execute();
    await Promise.all([world.start(), world.start()]);
    const ended = [await fire('launch_rocket'), await fire('block')];
    const ruleless = aTrigger({ ruleId: 'never-heard-of', actionType: 'terminate_run' });
    const rehearsed = aTrigger({ ruleId: 'never-heard-of', dryRun: true });
    for (const trigger of [ruleless, ruleless, rehearsed]) await world.bus.publish(guardrailTriggered, trigger);
    for (const trigger of [...ended, ruleless]) await world.settled(trigger, 'failed');
    await world.settled(rehearsed, 'dry_run');
    await eventually(async () => expect(await world.delivery(forgotten)).toMatchObject({ result: 'failed' }));
    expect(await failed()).toEqual(idsOf([...ended, ruleless, forgotten]));
    expect([given(), given({ why: 'impossible' })]).toEqual([4, 4]);
    expect([given({ action: 'terminate_run' }), given({ action: 'pause_agent' })]).toEqual([1, 1]);
  });
});
