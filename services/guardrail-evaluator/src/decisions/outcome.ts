import type { Alert, Budget, DecisionEffect } from '@agentlens/contracts';
import type { DecisionRule, Ruling } from '@agentlens/guardrails';
import { beyondEffect, type DecisionOutcome } from '@agentlens/platform';
import type { BreakerVerdict } from '../breakers/breaker.service.ts';

/** The refusal of a budget. `unavailable`: the budget could not be checked and is set to block in that case. */
export interface BudgetRefusal {
  readonly budget: Budget;
  readonly why: 'spent' | 'estimate' | 'unavailable';
}

export function breakerOutcome({ ref, reason }: Extract<BreakerVerdict, { allowed: false }>): DecisionOutcome {
  return {
    ...{ verdict: 'BLOCK', control: 'TERMINATE', effect: 'terminate' },
    cause: { kind: 'LOCKDOWN', lockdownId: `breaker:${ref.scope}:${ref.scopeId}` },
    message: `The circuit breaker of this ${ref.scope === 'tree' ? 'run tree' : ref.scope} is open: ${reason}`,
    reason: 'breaker',
  };
}

/** Names the budget, never its amount. */
export function budgetOutcome({ budget: { id, name }, why }: BudgetRefusal): DecisionOutcome {
  const message = {
    spent: `The budget "${name}" is spent`,
    estimate: `What this call is expected to cost does not fit into the budget "${name}" any more`,
    unavailable: `The budget "${name}" could not be asked in time`,
  }[why];
  return { ...blocked(id, message), reason: 'budget', budgetId: id };
}

const REFUSALS = {
  denied: 'was denied',
  expired: 'was not decided in time',
  cancelled: 'was cancelled',
} as const;

/** Returns null if the call is approved. */
export function approvalOutcome(ruling: Ruling, { id: approvalId, status, reason }: Alert): DecisionOutcome | null {
  const rule = ruling.finalRule;
  if (status === 'approved' || rule === undefined) return null;
  const common = {
    ...{ approvalId, finalRuleId: rule.id, effect: ruling.effect, reason: 'approval' as const },
    ...beyondEffect(ruling.effect, ruling.wouldBe),
  };
  if (status === 'pending' || status === 'acknowledged') {
    const cause = { kind: 'HITL_PENDING', approvalId, ruleId: rule.id } as const;
    return { ...common, verdict: 'BLOCK', control: 'TERMINATE', cause, message: ruling.message };
  }
  const message = `The approval of this call ${REFUSALS[status]}, by rule "${rule.name}"${reason ? `: ${reason}` : ''}`;
  return { ...blocked(rule.id, message), ...common };
}

/** The outcome if a label that the rule needs could not be set. */
export function unlabelledOutcome({ id, name }: Pick<DecisionRule, 'id' | 'name'>): DecisionOutcome {
  return { ...blocked(id, `The call could not be recorded for rule "${name}"`), reason: 'rule' };
}

/** The outcome if no approval could be requested. */
export function unaskedOutcome(ruling: Ruling): DecisionOutcome {
  const name = ruling.finalRule?.name ?? '';
  const message = `This call needs approval by rule "${name}", and no approval could be requested`;
  return { ...blocked(ruling.finalRule?.id ?? '', message), reason: 'approval' };
}

function blocked(ruleId: string, message: string, effect: DecisionEffect = 'block'): DecisionOutcome {
  const cause = { kind: 'RULE_VIOLATION', ruleId } as const;
  return { verdict: 'BLOCK', control: 'CONTINUE', effect, cause, message, finalRuleId: ruleId };
}
