import { UNKNOWN_AGENT_ID } from '@agentlens/contracts';
import { type Caller, requireAgent } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { RunOwners } from '../intake/run-owners.ts';
import { KnownRuns } from './known-runs.ts';

/** Restricts calls under a bound key to the agents of the key and their runs. */
@Injectable()
export class OwnRuns {
  constructor(
    @Inject(KnownRuns) private readonly runs: KnownRuns,
    @Inject(RunOwners) private readonly owners: RunOwners,
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
