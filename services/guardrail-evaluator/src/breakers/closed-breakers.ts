import { BoundedMap } from '@agentlens/state';

/** So old may be what is remembered; what other instances count is seen by then. */
const FRESH_MS = 250;
/** The oldest agents make room; an agent of more runs at once than this begins again. */
const MOST_AGENTS = 5_000;
const MOST_RUNS = 200;

interface Known {
  /** The limits its breakers were judged by: changed limits are another object. */
  readonly limits: unknown;
  /** When each run's breaker, and that of the agent, was last read closed. */
  readonly runs: Map<string, number>;
}

/**
 * Runs whose breakers were found closed a moment ago, so that calls which follow each other closely are not each a
 * question to the store. Forgotten as soon as this instance has changed anything about the agent.
 */
export class ClosedBreakers {
  readonly #agents = new BoundedMap<Known>(MOST_AGENTS);
  readonly #now: () => number;

  /** @param now ms of a clock that never goes back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  has(tenantId: string, agentId: string, runId: string, limits: unknown): boolean {
    const known = this.#agents.get(nameOf(tenantId, agentId));
    const readAtMs = known?.limits === limits ? known?.runs.get(runId) : undefined;
    return readAtMs !== undefined && this.#now() - readAtMs < FRESH_MS;
  }

  /** To be called before the store is asked; what it answers is then noted, unless the agent was forgotten meanwhile. */
  reading(tenantId: string, agentId: string, runId: string, limits: unknown): { closed(): void } {
    const readAtMs = this.#now();
    const { runs } = this.#known(nameOf(tenantId, agentId), limits);
    return {
      closed: () => {
        if (runs.size >= MOST_RUNS) runs.clear();
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

/** A tenant's name holds no slash. */
function nameOf(tenantId: string, agentId: string): string {
  return `${tenantId}/${agentId}`;
}
