import { BoundedMap } from '@agentlens/state';

/** Maximum age of a cached entry, and so the delay until counts of other instances are seen. */
const FRESH_MS = 250;
/**
 * The least recently used agents are evicted. An agent with more than `MAX_RUNS` concurrent runs starts with an empty
 * cache.
 */
const MAX_AGENTS = 5_000;
const MAX_RUNS = 200;

interface Known {
  /** The limits its breakers were judged by, compared by identity: changed limits are a new object. */
  readonly limits: unknown;
  /** When the breaker of each run, together with that of the agent, was last read as closed. */
  readonly runs: Map<string, number>;
}

/**
 * Caches runs whose breakers were closed a moment ago, so that calls in quick succession do not each read the store. An
 * agent's entries are dropped as soon as this instance changes any of its breakers.
 */
export class ClosedBreakers {
  readonly #agents = new BoundedMap<Known>(MAX_AGENTS);
  readonly #now: () => number;

  /** @param now monotonic clock, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  has(tenantId: string, agentId: string, runId: string, limits: unknown): boolean {
    const known = this.#agents.get(nameOf(tenantId, agentId));
    const readAtMs = known?.limits === limits ? known?.runs.get(runId) : undefined;
    return readAtMs !== undefined && this.#now() - readAtMs < FRESH_MS;
  }

  /** Call before reading the store. `closed()` then caches the result, unless the agent was dropped in the meantime. */
  reading(tenantId: string, agentId: string, runId: string, limits: unknown): { closed(): void } {
    const readAtMs = this.#now();
    const { runs } = this.#known(nameOf(tenantId, agentId), limits);
    return {
      closed: () => {
        if (runs.size >= MAX_RUNS) runs.clear();
        runs.set(runId, readAtMs);
      },
    };
  }

  forget(tenantId: string, agentId: string): void {
    this.#agents.delete(nameOf(tenantId, agentId));
  }

  #known(name: string, limits: unknown): Known {
    const known = this.#agents.get(name);
    if (known !== undefined && known.limits === limits) return known;
    const made = { limits, runs: new Map<string, number>() };
    this.#agents.set(name, made);
    return made;
  }
}

/** Tenant names contain no slash. */
function nameOf(tenantId: string, agentId: string): string {
  return `${tenantId}/${agentId}`;
}
