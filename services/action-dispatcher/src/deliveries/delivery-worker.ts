import { randomUUID } from 'node:crypto';
import { BackgroundWork, observeQueue, within } from '@agentlens/messaging';
import { Paces } from '../destinations/destinations.ts';
import { LeaseBook, type Limits, type Occupant, Slots, WaitingLine } from './capacity.ts';
import type { ClaimedDelivery, Lane } from './claimed-delivery.ts';
import type { Deliver, DeliveryHolder } from './deliver.ts';
import type { DeliveriesRepository } from './deliveries.repository.ts';
import { disablesDestination, type Ending } from './execution.ts';

export interface LaneLimits {
  /** Concurrent attempts. */
  readonly running: Limits;
  /** Leases held: running attempts, deliveries that wait for a slot, and results that wait to be recorded. */
  readonly held: Limits;
}

interface WorkerDependencies {
  readonly lane: Lane;
  readonly limits: LaneLimits;
  readonly deliveries: Pick<DeliveriesRepository, 'claim' | 'release'>;
  readonly deliver: Deliver;
  readonly now: () => number;
  /** Longer than waiting and an attempt take together. A delivery whose worker died is retried after this time. */
  readonly leaseMs: number;
  /** A delivery that waited this long for a slot is released, so that its attempt ends within the lease. */
  readonly patienceMs: number;
  /** Interval between polls for due deliveries. */
  readonly pollMs: number;
  readonly onError: (error: unknown, delivery?: ClaimedDelivery) => void;
}

/** Every n-th claim skips shares that are behind. */
const OTHERS_EVERY = 4;

/**
 * Carries out the due deliveries of one lane. It holds more leases than slots, so that a free slot is filled without a
 * query. Deliveries recorded by this process start at once, unless older ones wait in the table. Any number of replicas
 * may run: a lease keeps them apart, and an expired one passes its delivery on.
 */
export class DeliveryWorker implements DeliveryHolder {
  readonly leaseMs: number;
  readonly #dependencies: WorkerDependencies;
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

  constructor(dependencies: WorkerDependencies) {
    this.#dependencies = dependencies;
    this.leaseMs = dependencies.leaseMs;
    this.#places = new Slots(dependencies.limits.running, this.#paces.of);
    this.#holdings = new LeaseBook(dependencies.limits.held, this.#paces.of);
    this.#lastClaimAt = dependencies.now();
    const { lane, limits } = dependencies;
    observeQueue({ name: `deliveries_${lane}`, capacity: limits.held.total, size: () => this.#holdings.size });
  }

  /** Time of the last successful claim. */
  get lastClaimAt(): number {
    return this.#lastClaimAt;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Claims now instead of at the next poll. */
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
    for (const delivery of deliveries) this.#waiting.add(delivery, this.#dependencies.now());
    this.#fillPlaces();
  }

  /**
   * Starts nothing new and waits for running attempts. Attempts that outlast `graceMs` are retried after their lease.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#wakeUp();
    await within(graceMs, Promise.all([this.#loop, this.#running.ended()]));
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const more = await this.#round().catch((error: unknown) => {
        this.#dependencies.onError(error);
        return false;
      });
      if (!more) await this.#rest();
    }
    await this.#release(this.#waiting.leaveSince()).catch((error: unknown) => this.#dependencies.onError(error));
  }

  /** @returns true if there may be more to claim at once */
  async #round(): Promise<boolean> {
    const { deliveries, lane, leaseMs, patienceMs, now } = this.#dependencies;
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
    await this.#dependencies.deliveries.release(deliveries);
  }

  #fillPlaces(): void {
    if (this.#stopping) return;
    const take = (delivery: ClaimedDelivery) => this.#places.take(delivery);
    for (let next = this.#waiting.next(take); next !== undefined; next = this.#waiting.next(take)) {
      this.#running.add(this.#deliver(next));
    }
  }

  async #deliver(delivery: ClaimedDelivery): Promise<void> {
    const { deliver, onError } = this.#dependencies;
    try {
      await deliver(delivery, this);
    } catch (error) {
      onError(error, delivery);
    }
  }

  /** If the destination turned out to be gone, the deliveries that wait for it lose their place. */
  leaveSlot(delivery: ClaimedDelivery, ending: Ending | undefined, durationMs: number): readonly ClaimedDelivery[] {
    const { destination } = delivery;
    if (destination !== null && ending !== undefined) {
      this.#paces.learn(destination, ending.kind === 'delivered', durationMs);
    }
    const sentBack = ending !== undefined && disablesDestination(ending) ? this.#waiting.leaveWith(delivery) : [];
    this.#places.leave(delivery);
    this.#fillPlaces();
    return sentBack;
  }

  giveBackLeases(deliveries: readonly ClaimedDelivery[]): void {
    this.giveBack(deliveries);
    if (this.#holdings.wanting) this.wake();
  }

  async sendBack(deliveries: readonly ClaimedDelivery[]): Promise<void> {
    await this.#release(deliveries);
    this.wake();
  }

  async #rest(): Promise<void> {
    if (!this.#woken && !this.#stopping) {
      const woken = Promise.withResolvers<void>();
      this.#wakeUp = woken.resolve;
      const timer = setTimeout(woken.resolve, this.#dependencies.pollMs);
      await woken.promise;
      clearTimeout(timer);
    }
    this.#woken = false;
  }
}
