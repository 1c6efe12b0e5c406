import { randomUUID } from 'node:crypto';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import type { DeliveryWorker } from './delivery-worker.ts';

type Reserved = Pick<ClaimedDelivery, 'tenantId' | 'deliveryId' | 'destination'>;

/**
 * Leases for deliveries that are being recorded just now, so that nobody has to look for them in the table. Whoever opens
 * one ends it, whatever happened: a lease that is neither used nor given back takes the room of another delivery.
 */
export class Reservation {
  readonly leaseId = randomUUID();
  readonly #reserved = new Map<string, Reserved>();

  constructor(
    readonly leaseMs: number,
    private readonly workerOf: (delivery: Reserved) => Pick<DeliveryWorker, 'reserve' | 'begin' | 'giveBack'>,
  ) {}

  /** False if this delivery has to wait in the table. */
  reserve(delivery: Reserved): boolean {
    const reserved = this.workerOf(delivery).reserve(delivery);
    if (reserved) this.#reserved.set(delivery.deliveryId, delivery);
    return reserved;
  }

  /** Carries out those that are recorded and gives the leases of all others back. */
  end(recorded: readonly ClaimedDelivery[]): void {
    for (const { deliveryId } of recorded) this.#reserved.delete(deliveryId);
    for (const delivery of this.#reserved.values()) this.workerOf(delivery).giveBack([delivery]);
    this.#reserved.clear();
    for (const delivery of recorded) this.workerOf(delivery).begin([delivery]);
  }
}
