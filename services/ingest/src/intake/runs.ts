import { BoundedMap, type IdempotencyStore, StateUnavailable } from '@agentlens/state';

/** Maximum number of runs that this instance caches; the oldest are evicted. */
const MAX_RUNS = 50_000;

/**
 * Assigns each run to the agent that first started it or reported on it. A key that is bound to agents may report only
 * on their runs, on every route.
 */
export class RunOwners {
  readonly #owners = new BoundedMap<string>(MAX_RUNS);

  constructor(
    private readonly memory: Pick<IdempotencyStore, 'remember'>,
    private readonly now: () => number,
    private readonly onMemoryLost: (error: unknown) => void,
  ) {}

  /**
   * Returns the agent that owns the run: this one, unless another was first.
   * @throws StateUnavailable if the owner cannot be determined
   */
  async claim(tenantId: string, runId: string, agentId: string): Promise<string> {
    const name = JSON.stringify([tenantId, runId]);
    const known = this.#owners.get(name);
    if (known !== undefined) return known;
    const claim = { bodyHash: Buffer.from(agentId).toString('base64url'), receivedAtMs: this.now() };
    const { bodyHash } = await this.memory.remember(tenantId, `run:${runId}`, claim);
    const owner = Buffer.from(bodyHash, 'base64url').toString();
    this.#owners.set(name, owner);
    return owner;
  }

  /** Like `claim`, but returns undefined if the owner cannot be determined. */
  async claimIfKnown(tenantId: string, runId: string, agentId: string): Promise<string | undefined> {
    try {
      return await this.claim(tenantId, runId, agentId);
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      this.onMemoryLost(error);
      return undefined;
    }
  }
}
