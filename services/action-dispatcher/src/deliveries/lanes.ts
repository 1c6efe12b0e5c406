import { type Lane, laneOf } from './claimed-delivery.ts';
import type { DeliveryWorker, LaneLimits } from './delivery-worker.ts';
import { Reservation } from './reservation.ts';

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

/** The workers of all lanes. What is recorded in this process goes to the one of its lane. */
export class Lanes {
  constructor(private readonly workers: Readonly<Record<Lane, DeliveryWorker>>) {}

  /** When the last of them managed to ask for work. */
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

  /** For what is recorded in this process just now. */
  open(): Reservation {
    const leaseMs = Math.min(...this.#all.map((worker) => worker.leaseMs));
    return new Reservation(leaseMs, (delivery) => this.workers[laneOf(delivery)]);
  }

  get #all(): DeliveryWorker[] {
    return Object.values(this.workers);
  }
}
