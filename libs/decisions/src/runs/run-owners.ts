import { UNKNOWN_AGENT_ID } from '@agentlens/contracts';
import { type Caller, requireAgent } from '@agentlens/platform';
import { BoundedMap, type IdempotencyStore, StateUnavailable } from '@agentlens/state';
import type { KnownRuns } from './known-runs.ts';

/** Maximum number of runs that this instance caches; the oldest are evicted. */
const MAX_RUNS = 50_000;

/**
 * Assigns each run to the agent that first started it or reported on it. A key that is bound to agents may report only
 * on their runs, on every route.
 */
export class RunOwners {
  readonly #owners = new BoundedMap<string>(MAX_RUNS);

  constructor(
    private readonly memory: Pick<IdempotencyStore, 'remember' | 'find'>,
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

  /** The agent that owns the run; undefined if no agent has reported on it. @throws StateUnavailable */
  async find(tenantId: string, runId: string): Promise<string | undefined> {
    const known = this.#owners.get(JSON.stringify([tenantId, runId]));
    if (known !== undefined) return known;
    const claim = await this.memory.find(tenantId, `run:${runId}`);
    return claim === undefined ? undefined : Buffer.from(claim.bodyHash, 'base64url').toString();
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

/** Restricts calls under a bound key to the agents of the key and their runs. */
export class OwnRuns {
  constructor(
    private readonly runs: KnownRuns,
    private readonly owners: RunOwners,
  ) {}

  /**
   * A call that names no agent is about the agent that started the run. If the state store does not answer, only the
   * named agent is checked: rejecting the question would let the client continue without an answer.
   *
   * @throws ProblemException 403
   */
  async require(caller: Caller, runId: string, agentId?: string | null): Promise<void> {
    if (caller.agents === undefined) return;
    const { tenantId } = caller;
    const starter = await this.runs.agentOf(tenantId, runId);
    const speaker = agentId || starter || UNKNOWN_AGENT_ID;
    requireAgent(caller, speaker);
    const owner = starter ?? (await this.owners.claimIfKnown(tenantId, runId, speaker));
    if (owner !== undefined) requireAgent(caller, owner, 'path.runId');
  }
}
