import type { Destination } from '../destinations/destination.ts';

export interface Limits {
  /** Attempts that may run at once. */
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

interface Occupant {
  readonly tenantId: string;
  readonly destination: Destination | null;
}

/** Who runs at the moment, so that one slow receiver or one busy tenant cannot take every place. */
export class Places {
  readonly #tenants = new Map<string, number>();
  readonly #destinations = new Map<string, { readonly destination: Destination; count: number }>();
  #taken = 0;

  constructor(private readonly limits: Limits) {}

  get free(): number {
    return this.limits.total - this.#taken;
  }

  /** Destinations and tenants that may not have another place now. */
  full(): { destinations: Destination[]; tenants: string[] } {
    const { perDestination, perTenant } = this.limits;
    const destinations = [...this.#destinations.values()].filter(({ count }) => count >= perDestination);
    const tenants = [...this.#tenants].filter(([, count]) => count >= perTenant);
    return { destinations: destinations.map(({ destination }) => destination), tenants: tenants.map(([id]) => id) };
  }

  /** How many places are left for whoever holds one already, and for whoever holds none. */
  room(): Room {
    const { perDestination, perTenant } = this.limits;
    return {
      perDestination,
      perTenant,
      destinations: [...this.#destinations.values()].map(({ destination, count }) => ({ destination, count })),
      tenants: [...this.#tenants].map(([tenantId, count]) => ({ tenantId, count })),
    };
  }

  /** False, and nothing is taken, where the tenant or the destination has its share already. */
  take({ tenantId, destination }: Occupant): boolean {
    const ofTenant = this.#tenants.get(tenantId) ?? 0;
    const ofDestination = destination === null ? 0 : (this.#destinations.get(keyOf(destination))?.count ?? 0);
    const { perDestination, perTenant } = this.limits;
    if (this.free <= 0 || ofTenant >= perTenant || ofDestination >= perDestination) return false;
    this.#taken += 1;
    this.#tenants.set(tenantId, ofTenant + 1);
    if (destination !== null) this.#destinations.set(keyOf(destination), { destination, count: ofDestination + 1 });
    return true;
  }

  leave({ tenantId, destination }: Occupant): void {
    this.#taken -= 1;
    const ofTenant = (this.#tenants.get(tenantId) ?? 1) - 1;
    if (ofTenant === 0) this.#tenants.delete(tenantId);
    else this.#tenants.set(tenantId, ofTenant);
    if (destination === null) return;
    const key = keyOf(destination);
    const count = (this.#destinations.get(key)?.count ?? 1) - 1;
    if (count === 0) this.#destinations.delete(key);
    else this.#destinations.set(key, { destination, count });
  }
}

function keyOf({ tenantId, id }: Destination): string {
  return `${tenantId}:${id}`;
}
