import { randomUUID } from 'node:crypto';
import type { ClaimedDelivery, DeliveriesRepository, Lane } from './deliveries.repository.ts';
import type { DeliveryExecutor, Execution } from './delivery-executor.ts';
import type { DeliveryMetrics } from './delivery-metrics.ts';
import { type Limits, Places } from './places.ts';
import type { SettlementsRepository } from './settlements.repository.ts';

export interface WorkerParts {
  readonly lane: Lane;
  readonly limits: Limits;
  readonly deliveries: DeliveriesRepository;
  readonly settlements: SettlementsRepository;
  readonly executor: DeliveryExecutor;
  readonly metrics: DeliveryMetrics;
  readonly now: () => number;
  /** Longer than an attempt can take; also how long a delivery rests when its worker died. */
  readonly leaseMs: number;
  /** How often to look for due deliveries without being woken. */
  readonly pollMs: number;
  /** Called after a commit that wrote to the outbox. */
  readonly onSettled: () => void;
  readonly onError: (error: unknown, delivery?: ClaimedDelivery) => void;
}

/** Pauses between tries to record a result: what was sent should be known as sent, or it is sent again. */
const RECORD_AGAIN_MS = [100, 500, 2_000];

/**
 * Carries out due deliveries of one lane: claims as many as it has places for, runs them, records what came of each. Any
 * number of replicas may run it; a lease keeps them apart, and a lease that ran out gives the delivery to the next one.
 */
export class DeliveryWorker {
  readonly #parts: WorkerParts;
  readonly #places: Places;
  readonly #running = new Set<Promise<void>>();
  #loop: Promise<void> | undefined;
  #stopping = false;
  #woken = false;
  #hungry = false;
  /** Attempts that have ended. */
  #departures = 0;
  #wakeUp: () => void = () => undefined;
  #lastClaimAt: number;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#places = new Places(parts.limits);
    this.#lastClaimAt = parts.now();
  }

  /** When it last managed to ask for work. */
  get lastClaimAt(): number {
    return this.#lastClaimAt;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** There is a new delivery: look now instead of at the next poll. */
  wake(): void {
    this.#woken = true;
    this.#wakeUp();
  }

  /** Claims nothing more and waits for running attempts; those that outlast `graceMs` are repeated after their lease. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#wakeUp();
    const finished = Promise.all([this.#loop, ...this.#running]);
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, graceMs);
    await Promise.race([finished, patience.promise]);
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const more = await this.#round().catch((error: unknown) => {
        this.#parts.onError(error);
        return false;
      });
      if (!more) await this.#rest();
    }
  }

  /** True where there may be more to claim at once. */
  async #round(): Promise<boolean> {
    const { deliveries, lane, leaseMs, now } = this.#parts;
    const limit = this.#places.free;
    this.#hungry = limit === 0;
    if (limit === 0) return false;
    const room = this.#places.room();
    const departures = this.#departures;
    const claimed = await deliveries.claim({ limit, lane, leaseMs, now: now(), leaseId: randomUUID(), room });
    this.#lastClaimAt = now();
    const surplus = claimed.filter((delivery) => this.#stopping || !this.#begin(delivery));
    await deliveries.release(surplus);
    const full = this.#places.full();
    this.#hungry = claimed.length === limit || full.destinations.length > 0 || full.tenants.length > 0;
    // Who left while the claim was on its way found nobody hungry; the claim did not know of the place either.
    const freed = this.#departures !== departures && room.tenants.length > 0;
    return claimed.length === limit || freed;
  }

  #begin(delivery: ClaimedDelivery): boolean {
    if (!this.#places.take(delivery)) return false;
    const work = this.#work(delivery).finally(() => {
      this.#running.delete(work);
      this.#places.leave(delivery);
      this.#departures += 1;
      if (this.#hungry) this.wake();
    });
    this.#running.add(work);
    return true;
  }

  async #work(delivery: ClaimedDelivery): Promise<void> {
    const { executor, onError, now } = this.#parts;
    try {
      const startedAt = now();
      const execution = await executor.execute(delivery);
      this.#count(delivery, execution, now() - startedAt);
      await this.#record(delivery, execution);
    } catch (error) {
      // The lease runs out and the delivery is carried out again, with the same id.
      onError(error, delivery);
    }
  }

  async #record(delivery: ClaimedDelivery, execution: Execution): Promise<void> {
    for (const pause of [...RECORD_AGAIN_MS, null]) {
      try {
        return await this.#recordOnce(delivery, execution);
      } catch (error) {
        if (pause === null) throw error;
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  async #recordOnce(delivery: ClaimedDelivery, execution: Execution): Promise<void> {
    const { deliveries, settlements, onSettled, now } = this.#parts;
    if (execution.kind === 'defer') {
      const { untilMs, reason } = execution;
      return deliveries.defer(delivery, { now: now(), untilMs, reason });
    }
    const settled = await settlements.settle(delivery, execution.settlement);
    if (settled && execution.settlement.next.kind === 'settled') onSettled();
  }

  #count(delivery: ClaimedDelivery, execution: Execution, durationMs: number): void {
    const { metrics, now } = this.#parts;
    const { actionType, triggeredAt } = delivery;
    const outcome = execution.kind === 'defer' ? 'deferred' : (execution.settlement.attempt?.outcome ?? 'dropped');
    metrics.ended(actionType, outcome, durationMs);
    if (outcome === 'delivered') metrics.delivered(actionType, now() - Date.parse(triggeredAt));
  }

  async #rest(): Promise<void> {
    if (!this.#woken && !this.#stopping) {
      const woken = Promise.withResolvers<void>();
      this.#wakeUp = woken.resolve;
      const timer = setTimeout(woken.resolve, this.#parts.pollMs);
      await woken.promise;
      clearTimeout(timer);
    }
    this.#woken = false;
  }
}
