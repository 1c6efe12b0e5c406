import { randomUUID } from 'node:crypto';
import type { Trigger } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { Kysely, Transaction } from 'kysely';
import type { ClaimedDelivery } from '../deliveries/claimed-delivery.ts';
import { queueWebhooks } from '../webhooks/webhook.queue.ts';
import { noticeOfTrigger } from '../webhooks/webhook-notice.ts';
import { type Cooldown, cooldownKey, mayHaveNeighbour } from './cooldown.ts';
import { coolBatch, triggerKey } from './cooling.ts';
import { type DirectIntake, type DispatchPlan, type Lease, planOf, type TriggerArrival } from './plan.ts';
import type { TriggerPartitions } from './trigger-partitions.ts';
import { lockCooldowns, readPast, type Written, writeEntries } from './triggers.repository.ts';

/** What became of a trigger: `begun`, its action is being carried out; `known`, it was recorded before. */
export type RecordedTriggers = 'queued' | 'begun' | 'dry_run' | 'cooldown' | 'failed' | 'known';

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
    private readonly intake?: DirectIntake,
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
    const plans: DispatchPlan[] = [];
    try {
      const { written, told } = await this.db.transaction().execute(async (tx) => {
        const entries = await this.#write(tx, [...first.values()], plans);
        return { written: entries, told: await this.#tell(tx, plans, entries) };
      });
      const answers = this.#begin(plans, written);
      if (told > 0) this.intake?.wake();
      return arrivals.map((arrival) => {
        const key = triggerKey(arrival.trigger);
        return first.get(key) === arrival ? (answers.get(key) ?? 'known') : 'known';
      });
    } catch (error) {
      // Where the commit's answer was lost the rows may be there, with a lease that runs out.
      this.intake?.giveBack(plans.flatMap(({ claimed }) => claimed ?? []));
      throw error;
    }
  }

  /** Fills `plans` before it writes them, so that what they reserved can be given back. */
  async #write(
    tx: Transaction<Tables>,
    arrivals: readonly TriggerArrival[],
    plans: DispatchPlan[],
  ): Promise<Written[]> {
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
    const lease = this.#lease();
    for (const [n, arrival] of arrivals.entries()) {
      const fate = cooling[n];
      if (fate === undefined || fate === 'known') continue;
      const action = locked.get(cooldownKey(arrival.trigger))?.action;
      plans.push(planOf({ arrival, cooling: fate, action, at, lease }));
    }
    return writeEntries(tx, plans, at);
  }

  /** Queues what webhook endpoints are told of the triggers that took effect; answers how much that is. */
  #tell(tx: Transaction<Tables>, plans: readonly DispatchPlan[], written: readonly Written[]): Promise<number> {
    const wanted = new Set(
      written.flatMap(({ wanted, tenant_id, trigger_id }) =>
        wanted ? [triggerKey({ tenantId: tenant_id, id: trigger_id })] : [],
      ),
    );
    const notices = plans.flatMap(({ trigger, effective }) =>
      effective && !trigger.dryRun && wanted.has(triggerKey(trigger)) ? [noticeOfTrigger(trigger)] : [],
    );
    return queueWebhooks(tx, notices, new Date(this.now()).toISOString());
  }

  #lease(): Lease {
    const { intake } = this;
    if (intake === undefined) return { reserve: () => false, id: '', until: '' };
    return {
      reserve: (occupant) => intake.reserve(occupant),
      id: randomUUID(),
      until: new Date(this.now() + intake.leaseMs).toISOString(),
    };
  }

  #begin(plans: readonly DispatchPlan[], written: readonly Written[]): Map<string, RecordedTriggers> {
    const rows = new Map(written.map((row) => [triggerKey({ tenantId: row.tenant_id, id: row.trigger_id }), row]));
    const begun: ClaimedDelivery[] = [];
    const unneeded: ClaimedDelivery[] = [];
    const answers = new Map<string, RecordedTriggers>();
    for (const { trigger, claimed, recorded } of plans) {
      const key = triggerKey(trigger);
      const row = rows.get(key);
      if (row !== undefined) answers.set(key, recorded);
      if (claimed === undefined) continue;
      if (row === undefined) unneeded.push(claimed);
      else begun.push({ ...claimed, disabled: row.disabled });
    }
    if (unneeded.length > 0) this.intake?.giveBack(unneeded);
    if (begun.length > 0) this.intake?.begin(begun);
    return answers;
  }
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
