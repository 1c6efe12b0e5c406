import type { Alert, Budget, Decision, DecisionEffect } from '@agentlens/contracts';
import type { Ruling } from '@agentlens/guardrails';
import { type ControlState, controlStateMessage } from '@agentlens/platform';
import type { BreakerVerdict } from '../breakers/breaker.service.ts';

/** What a decision says, without the question it answers. */
export type DecisionOutcome = Pick<
  Decision,
  | 'verdict'
  | 'control'
  | 'effect'
  | 'wouldHave'
  | 'cause'
  | 'message'
  | 'finalRuleId'
  | 'approvalId'
  | 'modifiedArgs'
  | 'reason'
  | 'budgetId'
>;

/** A budget's no. `unavailable`: it could not be asked, and is set to block then. */
export interface BudgetRefusal {
  readonly budget: Budget;
  readonly why: 'spent' | 'estimate' | 'unavailable';
}

const CONTINUE = { verdict: 'ALLOW', control: 'CONTINUE', cause: { kind: 'ALLOW' } } as const;

/** Killed and paused: nothing goes on. */
export function orderedOutcome(controlState: ControlState): DecisionOutcome {
  const { because } = controlState;
  return {
    ...{ verdict: 'BLOCK', control: 'TERMINATE', effect: 'terminate' },
    cause: { kind: 'LOCKDOWN', ...(because === undefined ? {} : { lockdownId: because.id }) },
    message: controlStateMessage(controlState),
    reason: 'order',
  };
}

export function breakerOutcome({ ref, reason }: Extract<BreakerVerdict, { allowed: false }>): DecisionOutcome {
  return {
    ...{ verdict: 'BLOCK', control: 'TERMINATE', effect: 'terminate' },
    cause: { kind: 'LOCKDOWN', lockdownId: `breaker:${ref.scope}:${ref.scopeId}` },
    message: `The circuit breaker of this ${ref.scope} is open: ${reason}`,
    reason: 'breaker',
  };
}

/** Names the budget, never how much it is. */
export function budgetOutcome({ budget: { id, name }, why }: BudgetRefusal): DecisionOutcome {
  const said = {
    spent: `The budget "${name}" is spent`,
    estimate: `What this call is expected to cost does not fit into the budget "${name}" any more`,
    unavailable: `The budget "${name}" could not be asked in time`,
  }[why];
  return { ...blocked(id, said), reason: 'budget', budgetId: id };
}

/** A rule's word on a call that waits for nobody. */
export function ruledOutcome(ruling: Ruling): DecisionOutcome {
  const { effect, wouldBe, finalRule, message, modifiedArgs } = ruling;
  const final = finalRule === undefined ? {} : { finalRuleId: finalRule.id };
  const said = { ...final, effect, ...beyond(effect, wouldBe), message };
  if (effect === 'block' || effect === 'terminate') {
    const control = effect === 'terminate' ? 'TERMINATE' : 'CONTINUE';
    return {
      ...said,
      reason: 'rule',
      verdict: 'BLOCK',
      control,
      cause: { kind: 'RULE_VIOLATION', ruleId: finalRule?.id ?? '' },
    };
  }
  const changed = effect === 'modify' ? ({ reason: 'rule' } as const) : {};
  return { ...CONTINUE, ...said, ...changed, ...(modifiedArgs === undefined ? {} : { modifiedArgs }) };
}

const REFUSALS = {
  denied: 'was denied',
  expired: 'was not decided in time',
  cancelled: 'was cancelled',
} as const;

/** What rules in shadow would have added; nothing where they ask for no more than was done. */
function beyond(effect: DecisionEffect, wouldBe: DecisionEffect): Pick<Decision, 'wouldHave'> {
  return wouldBe === effect ? {} : { wouldHave: wouldBe };
}

/** Null: it is approved. */
export function approvalOutcome(ruling: Ruling, { id: approvalId, status, reason }: Alert): DecisionOutcome | null {
  const rule = ruling.finalRule;
  if (status === 'approved' || rule === undefined) return null;
  const said = {
    ...{ approvalId, finalRuleId: rule.id, effect: ruling.effect, reason: 'approval' as const },
    ...beyond(ruling.effect, ruling.wouldBe),
  };
  if (status === 'pending' || status === 'acknowledged') {
    const cause = { kind: 'HITL_PENDING', approvalId, ruleId: rule.id } as const;
    return { ...said, verdict: 'BLOCK', control: 'TERMINATE', cause, message: ruling.message };
  }
  const message = `The approval of this call ${REFUSALS[status]}, by rule "${rule.name}"${reason ? `: ${reason}` : ''}`;
  return { ...blocked(rule.id, message), ...said };
}

/** The rule's own setting for when nobody could be asked. */
export function unaskedOutcome(ruling: Ruling): DecisionOutcome {
  const name = ruling.finalRule?.name ?? '';
  const message = `Nobody could be asked to approve this call, by rule "${name}"`;
  return { ...blocked(ruling.finalRule?.id ?? '', message), reason: 'approval' };
}

function blocked(ruleId: string, message: string, effect: DecisionEffect = 'block'): DecisionOutcome {
  const cause = { kind: 'RULE_VIOLATION', ruleId } as const;
  return { verdict: 'BLOCK', control: 'CONTINUE', effect, cause, message, finalRuleId: ruleId };
}
