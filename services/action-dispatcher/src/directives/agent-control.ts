import type { ChangeAuthor, ControlOrder, Directive, RearmedRule } from '@agentlens/contracts';
import type { DirectiveOrder, Directives } from '@agentlens/guardrails';
import { type CommandAnswer, refusal } from '../answer.ts';
import type { AgentDirectivesRepository, DirectiveChange } from './agent-directives.repository.ts';
import { overrideModelBy, pauseBy, resume } from './directive-orders.ts';
import type { PauseRearmService } from './pause-rearm.service.ts';

interface UnpauseOrder {
  readonly tenantId: string;
  readonly agentId: string;
  readonly clearModelOverride: boolean;
  readonly author?: ChangeAuthor | undefined;
}

/** The directive in force, and the rules whose cooldown was ended. */
export type Unpaused = Directive & { readonly rearmed: RearmedRule[] };

const NONE: CommandAnswer<RearmedRule[]> = { ok: true, value: [] };

/** Writes directives for agents, for triggers and for people. */
export class AgentControl implements Directives {
  constructor(
    private readonly directives: AgentDirectivesRepository,
    private readonly rearming: PauseRearmService,
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

  /** Rejected while an operator's order holds the agent, which only another order resumes. */
  async unpause(order: UnpauseOrder): Promise<CommandAnswer<Unpaused>> {
    const { tenantId, agentId, author } = order;
    if (!(await this.directives.knows(tenantId, agentId))) return refusal(404, 'Agent not found');
    const held = await this.directives.orderOn(tenantId, agentId);
    if (held !== undefined) return refusedBy(held);
    return this.#resume(order, (change) => this.directives.applyAudited(change, 'agent.unpaused', author));
  }

  /** Ends a pause of the agent regardless of orders. */
  async endPause(tenantId: string, agentId: string): Promise<CommandAnswer<Pick<Unpaused, 'rearmed'>>> {
    if (!(await this.directives.isPaused(tenantId, agentId))) return { ok: true, value: { rearmed: [] } };
    // The audit holds the order that ends it.
    const apply = async (change: DirectiveChange) => (await this.directives.apply(change)).directive;
    return this.#resume({ tenantId, agentId, clearModelOverride: false }, apply);
  }

  /** Rearms the rules first, so that the agent is guarded as soon as it continues. */
  async #resume(
    { tenantId, agentId, clearModelOverride }: UnpauseOrder,
    apply: (change: DirectiveChange) => Promise<Directive>,
  ): Promise<CommandAnswer<Unpaused>> {
    const at = this.now();
    const paused = await this.directives.isPaused(tenantId, agentId);
    const rearmed = paused ? await this.rearming.rearm(tenantId, agentId, at) : NONE;
    if (!rearmed.ok) return rearmed;
    const directive = await apply({ tenantId, agentId, at, change: resume({ clearModelOverride }) });
    this.onIssued();
    return { ok: true, value: { ...directive, rearmed: rearmed.value } };
  }
}

function refusedBy({ scope, scopeId, state, by, reason, issuedAt }: ControlOrder): ReturnType<typeof refusal> {
  const what = scope === 'agent' ? 'The agent' : 'Every agent of the tenant';
  const why = reason === '' ? '' : `: ${reason}`;
  return refusal(
    409,
    `${what} is ${state} by an order of ${by} since ${issuedAt}${why}`,
    `Resume with POST /api/control {"scope":"${scope}","id":${JSON.stringify(scopeId)},"state":"running"}`,
  );
}
