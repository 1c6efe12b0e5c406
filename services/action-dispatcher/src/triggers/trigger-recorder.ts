import type { Trigger } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { Kysely, Transaction } from 'kysely';
import type { Lanes } from '../deliveries/lanes.ts';
import type { Reservation } from '../deliveries/reservation.ts';
import { queueWebhooks } from '../webhooks/webhook.queue.ts';
import { noticeOfTrigger } from '../webhooks/webhook-notice.ts';
import { type Cooldown, cooldownKey, mayHaveNeighbour } from './cooldown.ts';
import { coolBatch, triggerKey } from './cooling.ts';
import { type DispatchPlan, planOf, type TriggerArrival } from './plan.ts';
import type { TriggerPartitions } from './trigger-partitions.ts';
import { lockCooldowns, readPast, type Written, writeEntries } from './triggers.repository.ts';

/** What became of a trigger: `begun`, its action is being carried out; `known`, it was recorded before. */
export type RecordedTriggers = 'queued' | 'begun' | 'dry_run' | 'cooldown' | 'failed' | 'known';

/** True if the trigger is settled as soon as it is recorded: only its fact remains to be published. */
export function endsWithoutDelivery(recorded: RecordedTriggers): boolean {
  return recorded === 'dry_run' || recorded === 'cooldown' || recorded === 'failed';
}

/**
 * Turns triggers into history and deliveries, exactly once each, in whatever order and however often they arrive. The
 * authority on cooldowns: per rule, agent and mode, two effective triggers are never closer than the cooldown, decided
 * under a row lock. Which of two contenders is effective is decided by arrival here, never by both.
 */
export class TriggerRecorder {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly partitions: TriggerPartitions,
    private readonly now: () => number,
    /** Without one every delivery waits in the table. */
    private readonly lanes?: Pick<Lanes, 'open' | 'wake'>,
  ) {}

  /**
   * One transaction for all of them; answers in their order.
   * @throws where the database refuses one of them or is away; then nothing is recorded
   */
  async record(arrivals: readonly TriggerArrival[]): Promise<RecordedTriggers[]> {
    const months = new Map(arrivals.map(({ trigger }) => [trigger.triggeredAt.slice(0, 7), trigger.triggeredAt]));
    for (const instant of months.values()) await this.partitions.ensure(instant);
    const first = new Map<string, TriggerArrival>();
    for (const arrival of arrivals) {
      const key = triggerKey(arrival.trigger);
      if (!first.has(key)) first.set(key, arrival);
    }
    const reservation = this.lanes?.open();
    try {
      const { plans, written, told } = await this.db.transaction().execute(async (tx) => {
        const planned = await this.#plan(tx, [...first.values()], reservation);
        const at = new Date(this.now()).toISOString();
        const entries = await writeEntries(tx, planned, at);
        return { plans: planned, written: entries, told: await tell(tx, planned, entries, at) };
      });
      const rows = new Map(written.map((row) => [keyOf(row), row]));
      reservation?.end(
        plans.flatMap(({ trigger, claimed }) => {
          const row = rows.get(triggerKey(trigger));
          return row === undefined || claimed === undefined ? [] : [{ ...claimed, disabled: row.disabled }];
        }),
      );
      if (told > 0) this.lanes?.wake();
      const recorded = new Map(plans.map(({ trigger, recorded }) => [triggerKey(trigger), recorded]));
      return arrivals.map((arrival) => {
        const key = triggerKey(arrival.trigger);
        return (first.get(key) === arrival && rows.has(key) && recorded.get(key)) || 'known';
      });
    } catch (error) {
      // Where the commit's answer was lost the rows may be there, with a lease that runs out.
      reservation?.end([]);
      throw error;
    }
  }

  async #plan(
    tx: Transaction<Tables>,
    arrivals: readonly TriggerArrival[],
    reservation: Reservation | undefined,
  ): Promise<DispatchPlan[]> {
    const triggers = arrivals.map(({ trigger }) => trigger);
    const oneOfEach = new Map(triggers.map((trigger) => [cooldownKey(trigger), trigger]));
    const rows = await lockCooldowns(tx, [...oneOfEach.values()]);
    const locked = new Map([...oneOfEach.keys()].flatMap((key, n) => (rows[n] === undefined ? [] : [[key, rows[n]]])));
    const cooldowns = new Map([...locked].map(([key, { cooldown }]) => [key, cooldown]));
    const past = await readPast(
      tx,
      inNeedOfThePast(triggers, cooldowns),
      (trigger) => cooldowns.get(cooldownKey(trigger))?.rearmedAt ?? null,
    );
    const cooling = coolBatch(triggers, cooldowns, past);
    const at = new Date(this.now()).toISOString();
    return arrivals.flatMap((arrival, n) => {
      const fate = cooling[n];
      if (fate === undefined || fate === 'known') return [];
      const action = locked.get(cooldownKey(arrival.trigger))?.action;
      return [planOf({ arrival, cooling: fate, action, at, reservation })];
    });
  }
}

const keyOf = ({ tenant_id, trigger_id }: Written) => triggerKey({ tenantId: tenant_id, id: trigger_id });

/** Queues what webhook endpoints are told of the triggers that took effect; answers how much that is. */
function tell(
  tx: Transaction<Tables>,
  plans: readonly DispatchPlan[],
  written: readonly Written[],
  at: string,
): Promise<number> {
  const wanted = new Set(written.filter((row) => row.wanted).map(keyOf));
  const notices = plans.flatMap(({ trigger, effective }) =>
    effective && !trigger.dryRun && wanted.has(triggerKey(trigger)) ? [noticeOfTrigger(trigger)] : [],
  );
  return queueWebhooks(tx, notices, at);
}

/**
 * Alone in its batch and newer than the newest, a trigger needs no look at the history: the insert finds out whether it
 * is known, and nobody else depends on that.
 */
function inNeedOfThePast(triggers: readonly Trigger[], cooldowns: ReadonlyMap<string, Cooldown>): Trigger[] {
  const perKey = new Map<string, number>();
  for (const trigger of triggers) perKey.set(cooldownKey(trigger), (perKey.get(cooldownKey(trigger)) ?? 0) + 1);
  return triggers.filter((trigger) => {
    const cooldown = cooldowns.get(cooldownKey(trigger));
    if (cooldown === undefined || cooldown.count === 0) return false;
    return (perKey.get(cooldownKey(trigger)) ?? 0) > 1 || mayHaveNeighbour(cooldown, trigger);
  });
}
