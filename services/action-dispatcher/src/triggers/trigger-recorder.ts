import type { Trigger } from '@agentlens/contracts';
import { ensurePartitions, inHalves, refusalText, type Tables } from '@agentlens/database';
import { ACK, type HandlingOutcome, type Received } from '@agentlens/messaging';
import type { Kysely, Transaction } from 'kysely';
import type { Lanes, Reservation } from '../deliveries/lanes.ts';
import { queueWebhooks } from '../webhooks/webhook.queue.ts';
import { noticeOfTrigger } from '../webhooks/webhook-notice.ts';
import { type Cooldown, coolBatch, cooldownKey, mayHaveNeighbour, triggerKey } from './cooldown.ts';
import { type DispatchPlan, planOf, type TriggerArrival } from './plan.ts';
import { lockCooldowns, readPast, type Written, writeEntries } from './triggers.repository.ts';

/** Result of recording a trigger. `begun`: its action has started; `known`: a duplicate. */
export type RecordedTriggers = 'queued' | 'begun' | 'dry_run' | 'cooldown' | 'failed' | 'known';

/** True if the trigger is settled as soon as it is recorded: only its fact remains to be published. */
export function endsWithoutDelivery(recorded: RecordedTriggers): boolean {
  return recorded === 'dry_run' || recorded === 'cooldown' || recorded === 'failed';
}

/**
 * Turns triggers into history and deliveries, exactly once each, in any order of arrival. Decides cooldowns under a row
 * lock: per rule, agent and mode, two effective triggers are never closer than the cooldown. Of two contenders, the
 * first to arrive is effective.
 */
export class TriggerRecorder {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly partitions: TriggerPartitions,
    private readonly now: () => number,
    /** Without lanes every delivery waits in the table. */
    private readonly lanes?: Pick<Lanes, 'open' | 'wake'>,
  ) {}

  /**
   * Records all in one transaction; results are in the order of the arrivals.
   *
   * @throws database errors; then nothing is recorded
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
      const { plans, written, notified } = await this.db.transaction().execute(async (tx) => {
        const planned = await this.#plan(tx, [...first.values()], reservation);
        const at = new Date(this.now()).toISOString();
        const entries = await writeEntries(tx, planned, at);
        return { plans: planned, written: entries, notified: await queueNotifications(tx, planned, entries, at) };
      });
      const rows = new Map(written.map((row) => [keyOf(row), row]));
      reservation?.end(
        plans.flatMap(({ trigger, claimed }) => {
          const row = rows.get(triggerKey(trigger));
          return row === undefined || claimed === undefined ? [] : [{ ...claimed, disabled: row.disabled }];
        }),
      );
      if (notified > 0) this.lanes?.wake();
      const recorded = new Map(plans.map(({ trigger, recorded }) => [triggerKey(trigger), recorded]));
      return arrivals.map((arrival) => {
        const key = triggerKey(arrival.trigger);
        return (first.get(key) === arrival && rows.has(key) && recorded.get(key)) || 'known';
      });
    } catch (error) {
      // If the answer to the commit was lost, the rows may exist; their lease expires.
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
      triggersNeedingHistory(triggers, cooldowns),
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

/** Queues notifications for effective triggers. @returns how many */
function queueNotifications(
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

/** A trigger that is alone in its batch and newer than the newest needs no lookup: the insert detects a duplicate. */
function triggersNeedingHistory(triggers: readonly Trigger[], cooldowns: ReadonlyMap<string, Cooldown>): Trigger[] {
  const perKey = new Map<string, number>();
  for (const trigger of triggers) perKey.set(cooldownKey(trigger), (perKey.get(cooldownKey(trigger)) ?? 0) + 1);
  return triggers.filter((trigger) => {
    const cooldown = cooldowns.get(cooldownKey(trigger));
    if (cooldown === undefined || cooldown.count === 0) return false;
    return (perKey.get(cooldownKey(trigger)) ?? 0) > 1 || mayHaveNeighbour(cooldown, trigger);
  });
}

const TRY_AGAIN_MS = 60_000;

/**
 * Creates monthly partitions of the history on demand. If that fails, the default partition takes the rows until the
 * next try.
 */
export class TriggerPartitions {
  readonly #nextTry = new Map<string, number>();

  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: () => number,
    private readonly onError: (error: unknown) => void,
  ) {}

  async ensure(instant: string): Promise<void> {
    const month = instant.slice(0, 7);
    if ((this.#nextTry.get(month) ?? 0) > this.now()) return;
    // Set before the work, so that triggers of a new month do not queue behind one lock.
    this.#nextTry.set(month, Number.POSITIVE_INFINITY);
    const at = Date.parse(instant);
    try {
      await ensurePartitions(this.db, 'guardrail_triggers', at, at);
    } catch (error) {
      this.#nextTry.set(month, this.now() + TRY_AGAIN_MS);
      this.onError(error);
    }
  }
}

/** Takes batches of triggers: each is acknowledged once it is recorded, before its action is carried out. */
export class TriggerIntake {
  constructor(
    private readonly recorder: TriggerRecorder,
    /** Called with one result per trigger, in order. */
    private readonly onRecorded: (recorded: readonly RecordedTriggers[], triggers: readonly Trigger[]) => void,
  ) {}

  take(messages: readonly Received<Trigger>[]): Promise<HandlingOutcome[]> {
    return inHalves(
      messages,
      async (some) => {
        const arrivals = some.map(({ value, headers }) => ({ trigger: value, traceparent: headers.traceparent }));
        const triggers = some.map(({ value }) => value);
        this.onRecorded(await this.recorder.record(arrivals), triggers);
        return some.map(() => ACK);
      },
      (_message, error) => ({ kind: 'poison', reason: `the trigger cannot be stored: ${refusalText(error)}` }),
    );
  }
}
