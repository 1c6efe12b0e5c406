import { ProblemException } from '@agentlens/platform';

/** Limits of the streams and waiting polls of an instance. Each costs a socket and two timers. */
interface PlaceLimits {
  readonly total: number;
  readonly perTenant: number;
  readonly perKey: number;
}

const LIMITS: PlaceLimits = { total: 5_000, perTenant: 2_500, perKey: 1_000 };

/** An instance of an agent that listens, by a stream or a waiting poll. */
interface Place {
  readonly tenantId: string;
  readonly keyId: string;
  /** Ends the listening. The client reconnects, to this instance or another. */
  readonly giveUp: () => void;
}

interface Asking {
  readonly tenantId: string;
  readonly keyId: string;
}

/**
 * Divides the places to listen among keys and tenants, so that no tenant's agents can keep another tenant's from
 * receiving orders. When all are taken, the tenant that holds the most gives one up for a tenant with fewer.
 */
export class ListeningPlaces {
  readonly #limits: PlaceLimits;
  /** Places in the order in which they were taken. */
  readonly #byTenant = new Map<string, Set<Place>>();
  readonly #ofKey = new Map<string, number>();
  #taken = 0;

  constructor(limits: PlaceLimits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * Returns a callback that frees the place, to be called once. @throws ProblemException 429 over a limit, 503 if no
   * place is free
   */
  take({ tenantId, keyId }: Asking, giveUp: () => void): () => void {
    const { total, perTenant, perKey } = this.#limits;
    if ((this.#ofKey.get(keyId) ?? 0) >= perKey) throw tooMany(`this API key has ${perKey} already`);
    if (this.#heldBy(tenantId) >= perTenant) throw tooMany(`the tenant has ${perTenant} already`);
    if (this.#taken >= total && !this.#makeRoom(tenantId)) throw new ProblemException(503, 'Too many streams are open');
    const place: Place = { tenantId, keyId, giveUp };
    const held = this.#byTenant.get(tenantId) ?? new Set<Place>();
    this.#byTenant.set(tenantId, held.add(place));
    this.#ofKey.set(keyId, (this.#ofKey.get(keyId) ?? 0) + 1);
    this.#taken += 1;
    return () => this.#leave(place);
  }

  #leave(place: Place): void {
    const { tenantId, keyId } = place;
    const held = this.#byTenant.get(tenantId);
    if (held?.delete(place) !== true) return;
    if (held.size === 0) this.#byTenant.delete(tenantId);
    const left = (this.#ofKey.get(keyId) ?? 0) - 1;
    if (left > 0) this.#ofKey.set(keyId, left);
    else this.#ofKey.delete(keyId);
    this.#taken -= 1;
  }

  #makeRoom(tenantId: string): boolean {
    let largest = new Set<Place>();
    for (const held of this.#byTenant.values()) if (held.size > largest.size) largest = held;
    const [oldest] = largest;
    if (oldest === undefined || largest.size <= this.#heldBy(tenantId) + 1) return false;
    this.#leave(oldest);
    oldest.giveUp();
    return true;
  }

  #heldBy(tenantId: string): number {
    return this.#byTenant.get(tenantId)?.size ?? 0;
  }
}

function tooMany(why: string): ProblemException {
  return new ProblemException(429, 'Too many streams are open', {
    hint: `Close streams and polls of agents that are gone: ${why}. Heartbeats and decisions report orders in the meantime.`,
    headers: { 'retry-after': '10' },
  });
}
