import type { Destination } from '../destinations/destination.ts';

export interface Limits {
  /** Attempts that may run, or leases that may be held, at once. */
  readonly total: number;
  readonly perDestination: number;
  readonly perTenant: number;
}

/** Shares per destination and tenant, and what is taken of them now. */
export interface Room {
  readonly perDestination: number;
  readonly perTenant: number;
  readonly destinations: readonly { readonly destination: Destination; readonly count: number }[];
  readonly tenants: readonly { readonly tenantId: string; readonly count: number }[];
}

export interface Occupant {
  readonly tenantId: string;
  readonly destination: Destination | null;
}

/** Something that is limited: all places, those of a tenant, those of a destination. */
export interface Share {
  readonly key: string;
  readonly limit: number;
  /** Somebody whose share it is. */
  readonly occupant: Occupant;
}

/** Who has a place, so that one slow receiver or one busy tenant cannot take every place. */
export class Places {
  readonly #taken = new Map<string, { readonly share: Share; readonly count: number }>();

  constructor(private readonly limits: Limits) {}

  get free(): number {
    return this.limits.total - this.count(TOTAL);
  }

  /** How much of a share is taken. */
  count(key: string): number {
    return this.#taken.get(key)?.count ?? 0;
  }

  counts(): Map<string, number> {
    return new Map([...this.#taken].map(([key, { count }]) => [key, count]));
  }

  /** @param usedUp shares that are told as used up, whatever is taken of them */
  room(usedUp: Iterable<Share> = []): Room {
    const { perDestination, perTenant } = this.limits;
    const told = new Map(this.#taken);
    for (const share of usedUp) told.set(share.key, { share, count: Math.max(share.limit, this.count(share.key)) });
    const tenants: Room['tenants'][number][] = [];
    const destinations: Room['destinations'][number][] = [];
    for (const [key, { share, count }] of told) {
      const { tenantId, destination } = share.occupant;
      if (key === tenantId) tenants.push({ tenantId, count });
      else if (key !== TOTAL && destination !== null) destinations.push({ destination, count });
    }
    return { perDestination, perTenant, destinations, tenants };
  }

  sharesOf(occupant: Occupant): Share[] {
    const { tenantId, destination } = occupant;
    const { total, perDestination, perTenant } = this.limits;
    const shares = [
      { key: TOTAL, limit: total, occupant },
      { key: tenantId, limit: perTenant, occupant },
    ];
    return destination === null ? shares : [...shares, { key: keyOf(destination), limit: perDestination, occupant }];
  }

  /** False, and nothing is taken, where a share is used up. */
  take(occupant: Occupant): boolean {
    if (this.sharesOf(occupant).some(({ key, limit }) => this.count(key) >= limit)) return false;
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
}

/** No tenant is called so. */
const TOTAL = '*';

function keyOf({ tenantId, id }: Destination): string {
  return `${tenantId}:${id}`;
}
