import { type Destination, destinationKey } from '../destinations/destinations.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';

export interface Limits {
  /** Attempts that may run, or leases that may be held, at once. */
  readonly total: number;
  readonly perDestination: number;
  readonly perTenant: number;
}

/** What is free of the shares that are told, and of any other. */
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

/** Something that is limited: all places, those of a tenant, those of a destination. */
interface CapacityLimit {
  readonly key: string;
  readonly kind: 'all' | 'tenant' | 'destination';
  /** Somebody whose share it is. */
  readonly occupant: Occupant;
}

/** How many times its share a destination may take, 1 or more. */
export type Stretch = (destination: Destination) => number;

/** All places. No tenant is called so. */
export const ALL: CapacityLimit = { key: '*', kind: 'all', occupant: { tenantId: '*', destination: null } };

/**
 * Who has a place, so that one slow receiver or one busy tenant cannot take every place. A destination may take several
 * times its share while half of all places, and of its tenant's, are free: the other half is there for plain shares.
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

  /** How much of a share is taken. */
  count(key: string): number {
    return this.#taken.get(key)?.count ?? 0;
  }

  get taken(): CapacityLimit[] {
    return [...this.#taken.values()].map(({ share }) => share);
  }

  /** What may be taken of a share as things are now. */
  limitOf({ kind, occupant }: CapacityLimit): number {
    const { tenantId, destination } = occupant;
    if (kind === 'destination' && destination !== null && this.#halfIsFree(tenantId)) {
      return this.limits.perDestination * this.stretch(destination);
    }
    return this.plainLimitOf(kind);
  }

  /** Of a share nothing else is known of. */
  plainLimitOf(kind: CapacityLimit['kind']): number {
    const { total, perDestination, perTenant } = this.limits;
    return { all: total, tenant: perTenant, destination: perDestination }[kind];
  }

  freeOf(share: CapacityLimit): number {
    return this.limitOf(share) - this.count(share.key);
  }

  /** @param told what to tell of shares; all others are told to be free */
  room(told: Iterable<{ readonly share: CapacityLimit; readonly free: number }>): Room {
    const { perDestination, perTenant } = this.limits;
    const tenants: Room['tenants'][number][] = [];
    const destinations: Room['destinations'][number][] = [];
    for (const { share, free } of told) {
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

  /** False, and nothing is taken, where a share is used up. */
  take(occupant: Occupant): boolean {
    if (this.sharesOf(occupant).some((share) => this.freeOf(share) <= 0)) return false;
    this.add(occupant);
    return true;
  }

  /** Takes a place even where there is none left. */
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

/** What a claim may bring. */
interface ClaimRequest {
  readonly limit: number;
  readonly room: Room;
  /** The same by share: what the claim was told to be free. */
  readonly told: ReadonlyMap<string, Told>;
}

interface Told {
  readonly share: CapacityLimit;
  readonly free: number;
}

/** A claim looks through several times as many rows as it may bring, whether or not they are there to be brought. */
const MOST_AT_ONCE = 128;

/**
 * The leases a lane holds, and for which shares more may wait in the table. What waits there goes before what is just
 * being recorded: else those who came first would wait for as long as others keep coming.
 *
 * A share is *behind* while somebody may wait for it that no claim will meet: since one was refused, or since a claim
 * could not have brought more of it. Only a claim that could have and did not says that nobody waits. It may have missed
 * one whose transaction had not ended: whoever writes a delivery that was refused has a claim made after the commit.
 */
export class LeaseBook {
  readonly #places: Slots;
  #behind = new Map<string, CapacityLimit>();

  constructor(limits: Limits, stretch?: Stretch) {
    this.#places = new Slots(limits, stretch);
  }

  /** Leases that are held. */
  get size(): number {
    return this.#places.count(ALL.key);
  }

  /** @param others leave out those whose shares are behind: the others may stand far back in their queues */
  ask({ others = false } = {}): ClaimRequest {
    const limit = Math.min(MOST_AT_ONCE, Math.max(0, this.#places.free));
    const told = new Map<string, Told>();
    for (const share of [...this.#places.taken, ...this.#behind.values()]) {
      const free = others && this.#behind.has(share.key) ? 0 : this.#places.freeOf(share);
      told.set(share.key, { share, free });
    }
    told.set(ALL.key, { share: ALL, free: limit });
    return { limit, told, room: this.#places.room(told.values()) };
  }

  /**
   * Keeps what a claim brought, also where places were given away meanwhile. What the claim could have brought is judged
   * by what it was told, whoever came or left while it was on its way.
   *
   * @returns true where a share fell behind: what stands behind its queue was perhaps not reached
   */
  claimed({ told }: ClaimRequest, occupants: readonly Occupant[]): boolean {
    const left = new Map(told);
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

  /** False where it has to wait in the table. */
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

  /** True where somebody may wait for a share of which half is free again: fetching one by one would cost a claim each. */
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

/** Deliveries this process holds and has no place for yet. Destinations take turns; each is served in order. */
export class WaitingLine {
  readonly #lines = new Map<string, Waiting[]>();

  add(delivery: ClaimedDelivery, nowMs: number): void {
    const key = lineOf(delivery);
    const line = this.#lines.get(key);
    const waiting = { delivery, sinceMs: nowMs };
    if (line === undefined) this.#lines.set(key, [waiting]);
    else line.push(waiting);
  }

  /** The next one that `take` gives a place to. */
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

  /** Takes out those who have waited since before then, or all. */
  leaveSince(beforeMs = Number.POSITIVE_INFINITY): ClaimedDelivery[] {
    return this.#remove(({ sinceMs }) => sinceMs < beforeMs);
  }

  /** Takes out those who wait for the same destination. */
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
