import { randomUUID } from 'node:crypto';
import { BackgroundWork, observeQueue, within } from '@agentlens/messaging';
import type { DeliveryMetrics } from '../delivery-metrics.ts';
import { Paces } from '../destinations/paces.ts';
import type { ClaimedDelivery, Lane } from './claimed-delivery.ts';
import type { DeliveriesRepository } from './deliveries.repository.ts';
import type { DeliveryExecutor, Execution } from './delivery-executor.ts';
import { LeaseBook } from './lease-book.ts';
import type { ResultRecorder } from './result-recorder.ts';
import { type Limits, type Occupant, Slots } from './slots.ts';
import { WaitingLine } from './waiting-line.ts';

export interface LaneLimits {
  /** Attempts under way. */
  readonly running: Limits;
  /** Leases: what is under way, what waits for a place here, and what waits for its result to be recorded. */
  readonly held: Limits;
}

interface WorkerDependencies {
  readonly lane: Lane;
  readonly limits: LaneLimits;
  readonly deliveries: Pick<DeliveriesRepository, 'claim' | 'release'>;
  readonly results: Pick<ResultRecorder, 'record'>;
  readonly executor: Pick<DeliveryExecutor, 'execute'>;
  readonly metrics: Pick<DeliveryMetrics, 'ended' | 'delivered'>;
  readonly now: () => number;
  /** Longer than waiting and an attempt can take; also how long a delivery rests when its worker died. */
  readonly leaseMs: number;
  /** What has waited for a place here for so long is given back: an attempt has to end well within its lease. */
  readonly patienceMs: number;
  /** How often to look for due deliveries without being woken. */
  readonly pollMs: number;
  readonly onError: (error: unknown, delivery?: ClaimedDelivery) => void;
}

/** One claim in so many passes over the queues that are behind already. */
const OTHERS_EVERY = 4;

/**
 * Carries out due deliveries of one lane. It holds more leases than it has places, so that a place that comes free is
 * taken without asking the database; what is recorded by this process comes to it directly, as long as nobody waits
 * longer. Any number of replicas may run it; a lease keeps them apart, and one that ran out gives its delivery to the
 * next.
 */
export class DeliveryWorker {
  readonly leaseMs: number;
  readonly #parts: WorkerDependencies;
  readonly #paces = new Paces();
  readonly #places: Slots;
  readonly #holdings: LeaseBook;
  readonly #waiting = new WaitingLine();
  readonly #running = new BackgroundWork();
  #loop: Promise<void> | undefined;
  #stopping = false;
  #woken = false;
  #rounds = 0;
  #wakeUp: () => void = () => undefined;
  #lastClaimAt: number;

  constructor(parts: WorkerDependencies) {
    this.#parts = parts;
    this.leaseMs = parts.leaseMs;
    this.#places = new Slots(parts.limits.running, this.#paces.of);
    this.#holdings = new LeaseBook(parts.limits.held, this.#paces.of);
    this.#lastClaimAt = parts.now();
    const { lane, limits } = parts;
    observeQueue({ name: `deliveries_${lane}`, capacity: limits.held.total, size: () => this.#holdings.size });
  }

  /** When it last managed to ask for work. */
  get lastClaimAt(): number {
    return this.#lastClaimAt;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** There is a new delivery in the table: look now instead of at the next poll. */
  wake(): void {
    this.#woken = true;
    this.#wakeUp();
  }

  reserve(occupant: Occupant): boolean {
    return this.#loop !== undefined && !this.#stopping && this.#holdings.reserve(occupant);
  }

  giveBack(occupants: readonly Occupant[]): void {
    for (const occupant of occupants) this.#holdings.giveBack(occupant);
  }

  begin(deliveries: readonly ClaimedDelivery[]): void {
    for (const delivery of deliveries) this.#waiting.add(delivery, this.#parts.now());
    this.#fillPlaces();
  }

  /** Claims and begins nothing more and waits for running attempts; those that outlast `graceMs` are repeated after their lease. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#wakeUp();
    await within(graceMs, Promise.all([this.#loop, this.#running.ended()]));
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const more = await this.#round().catch((error: unknown) => {
        this.#parts.onError(error);
        return false;
      });
      if (!more) await this.#rest();
    }
    await this.#release(this.#waiting.leaveSince()).catch((error: unknown) => this.#parts.onError(error));
  }

  /** True where there may be more to claim at once. */
  async #round(): Promise<boolean> {
    const { deliveries, lane, leaseMs, patienceMs, now } = this.#parts;
    await this.#release(this.#waiting.leaveSince(now() - patienceMs));
    this.#rounds += 1;
    const asked = this.#holdings.ask({ others: this.#rounds % OTHERS_EVERY === 0 });
    const { limit, room } = asked;
    if (limit === 0) {
      this.#holdings.claimed(asked, []);
      return false;
    }
    const claimed = await deliveries.claim({ limit, room, lane, leaseMs, now: now(), leaseId: randomUUID() });
    this.#lastClaimAt = now();
    const fell = this.#holdings.claimed(asked, claimed);
    this.begin(claimed);
    return fell || this.#holdings.wanting;
  }

  async #release(deliveries: readonly ClaimedDelivery[]): Promise<void> {
    this.giveBack(deliveries);
    await this.#parts.deliveries.release(deliveries);
  }

  #fillPlaces(): void {
    if (this.#stopping) return;
    const take = (delivery: ClaimedDelivery) => this.#places.take(delivery);
    for (let next = this.#waiting.next(take); next !== undefined; next = this.#waiting.next(take)) {
      this.#running.add(this.#work(next));
    }
  }

  /** The place is free as soon as the attempt has ended, the lease once its result is on record. */
  async #work(delivery: ClaimedDelivery): Promise<void> {
    try {
      const { execution, sentBack } = await this.#attempt(delivery);
      await this.#parts.results.record(delivery, execution);
      if (sentBack.length === 0) return;
      await this.#release(sentBack);
      this.wake();
    } catch (error) {
      // The lease runs out and the delivery is carried out again, with the same id.
      this.#parts.onError(error, delivery);
    } finally {
      this.#holdings.giveBack(delivery);
      if (this.#holdings.wanting) this.wake();
    }
  }

  /** Where the destination turns out to be gone, those that wait for it are to be claimed again, and then know of it. */
  async #attempt(delivery: ClaimedDelivery) {
    const { executor, now } = this.#parts;
    const startedAt = now();
    try {
      const execution = await executor.execute(delivery);
      this.#learn(delivery, execution, now() - startedAt);
      const gone = execution.kind === 'settle' && execution.settlement.disable !== undefined;
      return { execution, sentBack: gone ? this.#waiting.leaveWith(delivery) : [] };
    } finally {
      this.#places.leave(delivery);
      this.#fillPlaces();
    }
  }

  #learn(delivery: ClaimedDelivery, execution: Execution, durationMs: number): void {
    const { metrics, now } = this.#parts;
    const { actionType, triggeredAt, destination } = delivery;
    const outcome = execution.kind === 'defer' ? 'deferred' : (execution.settlement.attempt?.outcome ?? 'dropped');
    metrics.ended(actionType, outcome, durationMs);
    if (destination !== null) this.#paces.learn(destination, outcome === 'delivered', durationMs);
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
