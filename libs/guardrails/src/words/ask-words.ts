import type { AskReason, GuardrailRule } from '@agentlens/contracts';
import type { DecisionRule } from '../decisions/decision-rule.ts';
import { looksAtAgentTags } from '../decisions/selectors.ts';

/** Why a gateway asks the evaluator, in words. */
export const ASK_WORDS: Readonly<Record<AskReason, string>> = {
  setting: 'a sampled decision differed, so the evaluator decided for 10 minutes',
  stale: 'the rules had just changed or were unconfirmed',
  approval: 'a rule asks a person, or an approval may be used up',
  other_identity: 'the run was started by another agent, session or end user',
  model_call: 'model calls count for circuit breakers',
  usage: 'the call reports usage, which counts for circuit breakers',
  budget: 'a budget applies',
  breaker: 'a circuit breaker is open or about to open',
  first: 'the first call of a run in 30 seconds',
  needs_state: 'a rule needs earlier calls or agent tags',
  counted: 'a rule counts the call',
  series: 'a rule needs totals of a time window',
  labels: 'a rule needs labels of the run tree',
  clock: 'the clocks of gateway and evaluator differ by more than a second',
  steps: 'the call has more than 200 rules, or an expensive one',
  sampled: '1 in 1,000 calls is decided by both',
};

const ADVICE: Partial<Record<AskReason, string>> = {
  stale: 'If this share stays high, check the connection between the gateways and NATS.',
  budget: 'Limit budgets to the agents that need them.',
  clock: 'Synchronize the clocks of the hosts.',
  steps: 'Limit rules to the tools and agents that need them, and simplify expensive ones.',
};

/**
 * Returns how to let gateways decide more calls, or undefined if there is nothing to change.
 * @param rule the rule that makes gateways ask, unless it was deleted
 * @param active the same rule, prepared
 */
export function askAdvice(
  reason: AskReason,
  rule: GuardrailRule | undefined,
  active: DecisionRule | undefined,
): string | undefined {
  if (rule === undefined || active === undefined) return ADVICE[reason];
  return reason === 'approval' ? undefined : ruleAdvice(rule, active);
}

const TOOL_CHOICES = ['tools', 'toolTagsAll', 'toolTagsAny'] as const;
/** Conditions that count calls regardless of the calls the rule applies to. */
const COUNT_MORE = ['max_calls', 'metric_window', 'execution_time'];

function ruleAdvice({ name, conditionType, conditionConfig }: GuardrailRule, rule: DecisionRule): string | undefined {
  const { agentId, selects, counts, countsEveryAgent } = rule;
  if (looksAtAgentTags(selects)) return `Select the agents of "${name}" by name instead of by tag.`;
  if (conditionType === 'max_calls' && !TOOL_CHOICES.some((choice) => conditionConfig[choice] !== undefined))
    return `"${name}" counts every call. Name the tools that it counts.`;
  const isLimited = TOOL_CHOICES.some((choice) => selects[choice] !== undefined);
  if (!isLimited && !COUNT_MORE.includes(conditionType))
    return `"${name}" applies to every tool. Limit it to the tools that need it.`;
  if (!counts || conditionType === 'data_flow') return undefined;
  if (countsEveryAgent) return `"${name}" counts calls of every agent. Look at the calls of one run or agent instead.`;
  return agentId === undefined ? `"${name}" counts calls of every agent. Limit it to one agent.` : undefined;
}
