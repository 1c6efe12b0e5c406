import { destinationKey } from '../destinations/by-destination.ts';
import type { Destination } from '../destinations/destination.ts';

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
export interface CapacityLimit {
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
