import { type Destination, destinationKey } from '../destinations/destinations.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';

export interface Limits {
  /** Concurrent attempts, or leases held. */
  readonly total: number;
  readonly perDestination: number;
  readonly perTenant: number;
}

/** Free capacity: of the listed destinations and tenants, and per destination and tenant for all others. */
export interface Room {
  readonly perDestination: number;
  readonly perTenant: number;
  readonly destinations: readonly { readonly destination: Destination; readonly free: number }[];
  readonly tenants: readonly { readonly tenantId: string; readonly free: number }[];
}

export interface Occupant {
  readonly tenantId: string;
  readonly destination: Destination | null;
}

/** A limited share: all slots, those of a tenant, or those of a destination. */
interface CapacityLimit {
  readonly key: string;
  readonly kind: 'all' | 'tenant' | 'destination';
  /** An occupant of the share. */
  readonly occupant: Occupant;
}

/** Multiple of its share that a destination may use, 1 or more. */
export type Stretch = (destination: Destination) => number;

/** All slots. `*` is not a valid tenant id. */
export const ALL: CapacityLimit = { key: '*', kind: 'all', occupant: { tenantId: '*', destination: null } };

/**
 * Slots, shared so that one slow receiver or one busy tenant cannot take all of them. A destination may use a multiple
 * of its share while half of all slots and half of its tenant's slots are free.
 */
export class Slots {
  readonly #taken = new Map<string, { readonly share: CapacityLimit; readonly count: number }>();

  constructor(
    private readonly limits: Limits,
    private readonly stretch: Stretch = () => 1,
  ) {}

  get free(): number {
    return this.freeOf(ALL);
  }

  /** Slots in use of a share. */
  count(key: string): number {
    return this.#taken.get(key)?.count ?? 0;
  }

  get taken(): CapacityLimit[] {
    return [...this.#taken.values()].map(({ share }) => share);
  }

  /** Current limit of a share. */
  limitOf({ kind, occupant }: CapacityLimit): number {
    const { tenantId, destination } = occupant;
    if (kind === 'destination' && destination !== null && this.#halfIsFree(tenantId)) {
      return this.limits.perDestination * this.stretch(destination);
    }
    return this.plainLimitOf(kind);
  }

  /** Limit of a share without a multiple. */
  plainLimitOf(kind: CapacityLimit['kind']): number {
    const { total, perDestination, perTenant } = this.limits;
    return { all: total, tenant: perTenant, destination: perDestination }[kind];
  }

  freeOf(share: CapacityLimit): number {
    return this.limitOf(share) - this.count(share.key);
  }

  /** @param known free capacity per share; shares that are not listed are free */
  room(known: Iterable<{ readonly share: CapacityLimit; readonly free: number }>): Room {
    const { perDestination, perTenant } = this.limits;
    const tenants: Room['tenants'][number][] = [];
    const destinations: Room['destinations'][number][] = [];
    for (const { share, free } of known) {
      const { tenantId, destination } = share.occupant;
      if (share.kind === 'tenant') tenants.push({ tenantId, free });
      if (share.kind === 'destination' && destination !== null) destinations.push({ destination, free });
    }
    return { perDestination, perTenant, destinations, tenants };
  }

  sharesOf(occupant: Occupant): CapacityLimit[] {
    const { tenantId, destination } = occupant;
    const shares: CapacityLimit[] = [ALL, { key: tenantId, kind: 'tenant', occupant }];
    if (destination !== null) shares.push({ key: destinationKey(destination), kind: 'destination', occupant });
    return shares;
  }

  /** Takes a slot. Returns false if a share is exhausted. */
  take(occupant: Occupant): boolean {
    if (this.sharesOf(occupant).some((share) => this.freeOf(share) <= 0)) return false;
    this.add(occupant);
    return true;
  }

  /** Takes a slot even if none is free. */
  add(occupant: Occupant): void {
    for (const share of this.sharesOf(occupant)) {
      this.#taken.set(share.key, { share, count: this.count(share.key) + 1 });
    }
  }

  leave(occupant: Occupant): void {
    for (const share of this.sharesOf(occupant)) {
      const count = this.count(share.key) - 1;
      if (count > 0) this.#taken.set(share.key, { share, count });
      else this.#taken.delete(share.key);
    }
  }

  #halfIsFree(tenantId: string): boolean {
    const { total, perTenant } = this.limits;
    return this.count(ALL.key) < total / 2 && this.count(tenantId) < perTenant / 2;
  }
}

/** What a claim may return. */
interface ClaimRequest {
  readonly limit: number;
  readonly room: Room;
  /** Free capacity per share that the claim was given. */
  readonly shares: ReadonlyMap<string, FreeShare>;
}

interface FreeShare {
  readonly share: CapacityLimit;
  readonly free: number;
}

/** A claim scans several times as many rows as it may return. */
const MAX_PER_STATEMENT = 128;

/**
 * Leases that a lane holds, and the shares for which deliveries may wait in the table. Deliveries in the table go
 * before those that are being recorded; otherwise old ones would wait while new ones keep arriving.
 *
 * A share is *behind* if a delivery may wait for it that the next claim might miss: after a reservation was rejected,
 * or after a claim returned as many as the share allows. A claim that had room left proves that none waits. It can miss
 * a delivery whose transaction has not committed; the writer of a rejected delivery triggers a claim after its commit.
 */
export class LeaseBook {
  readonly #places: Slots;
  #behind = new Map<string, CapacityLimit>();

  constructor(limits: Limits, stretch?: Stretch) {
    this.#places = new Slots(limits, stretch);
  }

  /** Number of leases held. */
  get size(): number {
    return this.#places.count(ALL.key);
  }

  /** @param others skip shares that are behind, because other deliveries may be far back in their queues */
  ask({ others = false } = {}): ClaimRequest {
    const limit = Math.min(MAX_PER_STATEMENT, Math.max(0, this.#places.free));
    const shares = new Map<string, FreeShare>();
    for (const share of [...this.#places.taken, ...this.#behind.values()]) {
      const free = others && this.#behind.has(share.key) ? 0 : this.#places.freeOf(share);
      shares.set(share.key, { share, free });
    }
    shares.set(ALL.key, { share: ALL, free: limit });
    return { limit, shares, room: this.#places.room(shares.values()) };
  }

  /**
   * Adds what a claim returned, even if slots were given away meanwhile. Shares are judged by the capacity that the
   * claim was given.
   *
   * @returns true if another share fell behind: the claim may not have reached what follows in the queue
   */
  claimed({ shares }: ClaimRequest, occupants: readonly Occupant[]): boolean {
    const left = new Map(shares);
    for (const occupant of occupants) {
      this.#places.add(occupant);
      for (const share of this.#places.sharesOf(occupant)) {
        const free = left.get(share.key)?.free ?? this.#places.plainLimitOf(share.kind);
        left.set(share.key, { share, free: free - 1 });
      }
    }
    const before = this.#behind;
    this.#behind = new Map();
    for (const [key, { share, free }] of left) if (free <= 0) this.#behind.set(key, share);
    return [...this.#behind.keys()].some((key) => !before.has(key));
  }

  /** Returns false if the delivery has to wait in the table. */
  reserve(occupant: Occupant): boolean {
    const shares = this.#places.sharesOf(occupant);
    if (shares.some(({ key }) => this.#behind.has(key))) return false;
    const usedUp = shares.filter((share) => this.#places.freeOf(share) <= 0);
    for (const share of usedUp) this.#behind.set(share.key, share);
    if (usedUp.length > 0) return false;
    this.#places.add(occupant);
    return true;
  }

  giveBack(occupant: Occupant): void {
    this.#places.leave(occupant);
  }

  /**
   * True if a share that is behind is at most half in use. Waiting for half saves claims that would fetch one row each.
   */
  get wanting(): boolean {
    for (const share of this.#behind.values()) {
      if (this.#places.count(share.key) <= this.#places.limitOf(share) / 2) return true;
    }
    return false;
  }
}

interface Waiting {
  readonly delivery: ClaimedDelivery;
  readonly sinceMs: number;
}

/** Deliveries with a lease but no slot yet. Destinations take turns; within one, deliveries keep their order. */
export class WaitingLine {
  readonly #lines = new Map<string, Waiting[]>();

  add(delivery: ClaimedDelivery, nowMs: number): void {
    const key = lineOf(delivery);
    const line = this.#lines.get(key);
    const waiting = { delivery, sinceMs: nowMs };
    if (line === undefined) this.#lines.set(key, [waiting]);
    else line.push(waiting);
  }

  /** Removes and returns the next delivery that `take` accepts. */
  next(take: (delivery: ClaimedDelivery) => boolean): ClaimedDelivery | undefined {
    for (const [key, line] of this.#lines) {
      const [first] = line;
      if (first === undefined || !take(first.delivery)) continue;
      line.shift();
      this.#lines.delete(key);
      if (line.length > 0) this.#lines.set(key, line);
      return first.delivery;
    }
    return undefined;
  }

  /** Removes deliveries that have waited since before then; without an argument, all. */
  leaveSince(beforeMs = Number.POSITIVE_INFINITY): ClaimedDelivery[] {
    return this.#remove(({ sinceMs }) => sinceMs < beforeMs);
  }

  /** Removes deliveries to the same destination. */
  leaveWith(delivery: ClaimedDelivery): ClaimedDelivery[] {
    const key = lineOf(delivery);
    return this.#remove((waiting) => lineOf(waiting.delivery) === key);
  }

  #remove(leaves: (waiting: Waiting) => boolean): ClaimedDelivery[] {
    const gone: ClaimedDelivery[] = [];
    for (const [key, line] of this.#lines) {
      const left = line.filter((waiting) => !leaves(waiting));
      if (left.length === line.length) continue;
      gone.push(...line.filter(leaves).map(({ delivery }) => delivery));
      if (left.length === 0) this.#lines.delete(key);
      else this.#lines.set(key, left);
    }
    return gone;
  }
}

function lineOf({ tenantId, destination }: ClaimedDelivery): string {
  return `${tenantId}:${destination?.id ?? ''}`;
}
