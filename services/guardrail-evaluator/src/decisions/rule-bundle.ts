import {
  AGENT_PHASES,
  type AgentPhase,
  type BreakerLimits,
  type Budget,
  type BundledRule,
  type GuardrailRule,
  type RuleBundle,
} from '@agentlens/contracts';
import {
  type AgentFacts,
  activate,
  type DecisionRule,
  isInForce,
  isInRollout,
  selectsAgent,
} from '@agentlens/guardrails';
import type { Clock, TenantSettingsCache } from '@agentlens/platform';
import type { TenantLimits } from '../breakers/limits.ts';
import type { RuleLibrary } from '../rules/rule-library.ts';
import type { AgentDirectory } from './agent-directory.ts';

/** Agents refresh at half of it. The maximum delay until changed rules apply to decisions made inside an agent. */
const TTL_SECONDS = 60;

interface RuleBundlesDependencies {
  readonly rules: Pick<RuleLibrary, 'stored'>;
  readonly agents: Pick<AgentDirectory, 'agent'>;
  readonly limits: Pick<TenantSettingsCache<TenantLimits>, 'of'>;
  readonly budgets: Pick<TenantSettingsCache<readonly Budget[]>, 'of'>;
  readonly clock: Clock;
}

/** Answers agents with the rules that they evaluate in their own process. */
export class RuleBundles {
  readonly #parts: RuleBundlesDependencies;

  constructor(parts: RuleBundlesDependencies) {
    this.#parts = parts;
  }

  async answer({ tenantId, agentId }: { readonly tenantId: string; readonly agentId: string }) {
    const { rules, agents, budgets, clock } = this.#parts;
    const limits = this.#parts.limits.of(tenantId);
    const value = bundleOf({
      agentId,
      agent: await agents.agent(tenantId, agentId),
      rules: await rules.stored(tenantId),
      breakerLimits: limits?.agents.get(agentId) ?? limits?.tenant ?? null,
      defaultBreaker: limits?.defaultBreaker,
      hasTreeLimits: limits?.tree !== undefined,
      hasBudgets: (budgets.of(tenantId)?.length ?? 0) > 0,
      nowMs: clock.now(),
    });
    return { ok: true as const, value };
  }
}

export interface BundleFacts {
  readonly agentId: string;
  /** Null if the agent never registered. */
  readonly agent: AgentFacts | null;
  readonly rules: readonly GuardrailRule[];
  /** Limits set for this agent; null if the defaults apply. */
  readonly breakerLimits: BreakerLimits | null;
  readonly defaultBreaker?: 'off' | undefined;
  readonly hasTreeLimits?: boolean;
  readonly hasBudgets: boolean;
  readonly nowMs: number;
}

/**
 * The decision rules of one agent, for its own process. The agent evaluates rules that need only the call, and asks the
 * server about the rest.
 */
export function bundleOf(facts: BundleFacts): RuleBundle {
  const { agentId, agent, rules, breakerLimits, defaultBreaker, hasTreeLimits, hasBudgets, nowMs } = facts;
  const inForce = rules.filter((rule) => isInForce(rule, nowMs)).flatMap(decisionRuleOf);
  const about = inForce.flatMap((one) => ofAgent(one, agentId, agent));
  const ask = new Set<AgentPhase>();
  // A rule that counts calls is only correct if every call is counted, regardless of its tool.
  if (about.some(({ ready }) => ready.counts) || inForce.some(({ ready }) => ready.countsEveryAgent))
    for (const phase of ['tool.before', 'tool.after'] as const) ask.add(phase);
  if (breakerLimits !== null || hasTreeLimits)
    for (const phase of ['tool.before', 'llm.before'] as const) ask.add(phase);
  if (hasBudgets) ask.add('llm.before');
  return {
    agentId,
    version: nowMs,
    ttlSeconds: TTL_SECONDS,
    askAlways: [...ask],
    rules: about.map((one) => bundled(one, agentId)).filter(({ phases }) => phases.length > 0),
    ...(breakerLimits === null ? {} : { breakerLimits }),
    ...(defaultBreaker === undefined ? {} : { defaultBreaker }),
  };
}

interface Prepared {
  readonly rule: GuardrailRule;
  readonly ready: DecisionRule;
}

interface Ready extends Prepared {
  readonly askServer: boolean;
}

function decisionRuleOf(rule: GuardrailRule): Prepared[] {
  const active = activate(rule);
  return active.ok && active.value.cadence === 'call' ? [{ rule, ready: active.value }] : [];
}

function ofAgent(one: Prepared, agentId: string, agent: AgentFacts | null): Ready[] {
  if (one.rule.agentId !== undefined && one.rule.agentId !== agentId) return [];
  // The tags of an unregistered agent are unknown: it may register with any.
  const selected = selectsAgent(one.ready.selects, agentId, agent ?? 'unavailable');
  return selected === false ? [] : [{ ...one, askServer: selected !== true }];
}

/** The agent selection is already resolved, or the server is asked; the call selection is included. */
function bundled({ rule, ready, askServer }: Ready, agentId: string): BundledRule {
  const { tools, toolTagsAll, toolTagsAny } = ready.selects;
  const selector = {
    tools: tools && [...tools],
    toolTagsAll: toolTagsAll && [...toolTagsAll],
    toolTagsAny: toolTagsAny && [...toolTagsAny],
  };
  return {
    id: rule.id,
    version: rule.version,
    name: rule.name,
    priority: rule.priority,
    onMissing: rule.onMissing,
    onUnavailable: rule.onUnavailable,
    conditionType: rule.conditionType,
    conditionConfig: rule.conditionConfig,
    actionType: rule.actionType,
    actionConfig: rule.actionConfig,
    // Clients reject a bundle with a phase that they do not ask in.
    phases: AGENT_PHASES.filter((phase) => ready.phases.includes(phase)),
    selector,
    ...modeOf(ready, agentId, askServer),
  };
}

/** A rollout by agent is resolved here. Clients that do not know `rollout` ask about every selected call. */
function modeOf({ id, mode, rollout }: DecisionRule, agentId: string, askServer: boolean) {
  if (rollout === undefined) return { mode, ...(askServer ? { askServer } : {}) };
  if (rollout.by === 'agent' && !askServer) {
    return { mode: isInRollout(id, rollout, agentId) ? ('enforce' as const) : ('shadow' as const) };
  }
  return { mode: 'shadow' as const, askServer: true as const, ...(askServer ? {} : { rollout }) };
}
