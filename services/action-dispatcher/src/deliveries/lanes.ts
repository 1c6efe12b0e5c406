import { randomUUID } from 'node:crypto';
import { type ClaimedDelivery, type Lane, laneOf } from './claimed-delivery.ts';
import type { DeliveryWorker, LaneLimits } from './delivery-worker.ts';

type Reserved = Pick<ClaimedDelivery, 'tenantId' | 'deliveryId' | 'destination'>;

/**
 * Leases for deliveries that are being recorded, so that no worker has to look for them in the table. Always end a
 * reservation: a lease that is neither used nor given back takes the capacity of another delivery.
 */
export class Reservation {
  readonly leaseId = randomUUID();
  readonly #reserved = new Map<string, Reserved>();

  constructor(
    readonly leaseMs: number,
    private readonly workerOf: (delivery: Reserved) => Pick<DeliveryWorker, 'reserve' | 'begin' | 'giveBack'>,
  ) {}

  /** Returns false if the delivery has to wait in the table. */
  reserve(delivery: Reserved): boolean {
    const reserved = this.workerOf(delivery).reserve(delivery);
    if (reserved) this.#reserved.set(delivery.deliveryId, delivery);
    return reserved;
  }

  /** Starts the recorded deliveries and gives back all other leases. */
  end(recorded: readonly ClaimedDelivery[]): void {
    for (const { deliveryId } of recorded) this.#reserved.delete(deliveryId);
    for (const delivery of this.#reserved.values()) this.workerOf(delivery).giveBack([delivery]);
    this.#reserved.clear();
    for (const delivery of recorded) this.workerOf(delivery).begin([delivery]);
  }
}

export const LIMITS: Readonly<Record<Lane, LaneLimits>> = {
  internal: {
    running: { total: 8, perDestination: 8, perTenant: 6 },
    held: { total: 64, perDestination: 64, perTenant: 48 },
  },
  outbound: {
    running: { total: 64, perDestination: 4, perTenant: 48 },
    held: { total: 512, perDestination: 32, perTenant: 384 },
  },
};

/** The workers of all lanes. Routes recorded deliveries to the worker of their lane. */
export class Lanes {
  constructor(private readonly workers: Readonly<Record<Lane, DeliveryWorker>>) {}

  /** Time of the last successful claim, of the slowest lane. */
  get lastClaimAt(): number {
    return Math.min(...this.#all.map((worker) => worker.lastClaimAt));
  }

  start(): void {
    for (const worker of this.#all) worker.start();
  }

  wake(): void {
    for (const worker of this.#all) worker.wake();
  }

  async stop(graceMs: number): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker.stop(graceMs)));
  }

  /** Opens a reservation for deliveries about to be recorded. */
  open(): Reservation {
    const leaseMs = Math.min(...this.#all.map((worker) => worker.leaseMs));
    return new Reservation(leaseMs, (delivery) => this.workers[laneOf(delivery)]);
  }

  get #all(): DeliveryWorker[] {
    return Object.values(this.workers);
  }
}
