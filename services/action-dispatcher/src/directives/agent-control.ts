import type { Directive } from '@agentlens/contracts';
import type { DirectiveOrder, Directives } from '@agentlens/guardrails';
import { type CommandAnswer, refusal } from '../answer.ts';
import type { AgentDirectivesRepository } from './agent-directives.repository.ts';
import { overrideModelBy, pauseBy, resume } from './directive-orders.ts';

interface UnpauseOrder {
  readonly tenantId: string;
  readonly agentId: string;
  readonly clearModelOverride: boolean;
}

/** Gives standing instructions to agents: by triggers, and by people. */
export class AgentControl implements Directives {
  constructor(
    private readonly directives: AgentDirectivesRepository,
    private readonly now: () => number,
    /** Called after a commit that wrote to the outbox. */
    private readonly onIssued: () => void,
  ) {}

  async pause(order: DirectiveOrder): Promise<void> {
    const { tenantId, agentId } = order;
    await this.directives.apply({ tenantId, agentId, at: this.now(), change: pauseBy(order) });
    this.onIssued();
  }

  async overrideModel(order: DirectiveOrder & { readonly model: string }): Promise<void> {
    const { tenantId, agentId } = order;
    await this.directives.apply({ tenantId, agentId, at: this.now(), change: overrideModelBy(order) });
    this.onIssued();
  }

  async unpause({ tenantId, agentId, clearModelOverride }: UnpauseOrder): Promise<CommandAnswer<Directive>> {
    if (!(await this.directives.knows(tenantId, agentId))) {
      return refusal(404, 'Agent not found');
    }
    const change = resume({ clearModelOverride });
    const { directive } = await this.directives.apply({ tenantId, agentId, at: this.now(), change });
    this.onIssued();
    return { ok: true, value: directive };
  }

  /** Ends the pause of an agent where there is one. */
  async endPause(tenantId: string, agentId: string): Promise<void> {
    if (!(await this.directives.isPaused(tenantId, agentId))) return;
    await this.unpause({ tenantId, agentId, clearModelOverride: false });
  }
}
