import { timeOrderedId } from '@agentlens/contracts';
import type { AlertService } from '../alerts/alert.service.ts';

/** How many people could approve a call when its approval was opened. */
export interface Reach {
  readonly tenantId: string;
  readonly agentId: string;
  readonly runId: string | undefined;
  readonly policyId: string;
  /** Of the policy. */
  readonly name: string;
  readonly quorum: number;
  readonly eligible: number;
}

/**
 * Raises an alert when an approval opens that not enough people may decide: while there is time to name another person, not when
 * it has expired as a denial. There is one open alert for each policy.
 */
export class QuorumAlerts {
  constructor(
    private readonly alerts: Pick<AlertService, 'put' | 'close'>,
    private readonly now: () => number,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** The approval is open already, so a failure here must not refuse it. */
  async report(reach: Reach): Promise<void> {
    try {
      await this.#report(reach);
    } catch (error) {
      this.onError(error);
    }
  }

  async #report({ tenantId, agentId, runId, policyId, name, quorum, eligible }: Reach): Promise<void> {
    const about = `quorum of ${policyId}`;
    const condition = { tenantId, kind: 'security', agentId, ruleId: undefined, runId: undefined, about } as const;
    if (eligible >= quorum) {
      await this.alerts.close({ ...condition, spansAgents: true }, 'Enough people may decide again');
      return;
    }
    const who = eligible === 0 ? 'no person' : eligible === 1 ? 'one person' : `${eligible} people`;
    const draft = {
      ...{ ...condition, spansAgents: true, severity: 'error' as const },
      title: `The policy "${name}" needs ${quorum === 1 ? 'a person' : `${quorum} people`}, and ${who} may decide`,
      message:
        `A call of the agent ${agentId}${runId === undefined ? '' : ` in run ${runId}`} waits for approval and will be denied ` +
        'by expiry. Add people to the teams that the policy names, have one of them name a deputy, or lower the quorum: open ' +
        'approvals keep the policy that they were opened with.',
    };
    await this.alerts.put(draft, timeOrderedId(this.now()));
  }
}
