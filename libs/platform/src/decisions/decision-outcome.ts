import {
  type Decision,
  type DecisionEffect,
  type DecisionRequest,
  type RuleBypass,
  recordedToolName,
} from '@agentlens/contracts';
import type { CallIdentity, Ruling } from '@agentlens/guardrails';
import { type ControlState, controlStateMessage } from '../control/index.ts';

/** The content of a decision, without the question it answers. */
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

const CONTINUE = { verdict: 'ALLOW', control: 'CONTINUE', cause: { kind: 'ALLOW' } } as const;

/** The outcome for a run that an order or a limit of its tree stops. */
export function orderedOutcome(controlState: ControlState): DecisionOutcome {
  const { because } = controlState;
  return {
    ...{ verdict: 'BLOCK', control: 'TERMINATE', effect: 'terminate' },
    cause: { kind: 'LOCKDOWN', ...(because === undefined ? {} : { lockdownId: because.id }) },
    message: controlStateMessage(controlState),
    reason: because?.isLimit ? 'tree_limit' : 'order',
  };
}

/** The outcome of a ruling that needs no approval. */
export function ruledOutcome(ruling: Ruling): DecisionOutcome {
  const { effect, wouldBe, finalRule, message, modifiedArgs } = ruling;
  const final = finalRule === undefined ? {} : { finalRuleId: finalRule.id };
  const common = { ...final, effect, ...beyondEffect(effect, wouldBe), message };
  if (effect === 'block' || effect === 'terminate') {
    const control = effect === 'terminate' ? 'TERMINATE' : 'CONTINUE';
    return {
      ...common,
      reason: 'rule',
      verdict: 'BLOCK',
      control,
      cause: { kind: 'RULE_VIOLATION', ruleId: finalRule?.id ?? '' },
    };
  }
  const changed = effect === 'modify' ? ({ reason: 'rule' } as const) : {};
  return { ...CONTINUE, ...common, ...changed, ...(modifiedArgs === undefined ? {} : { modifiedArgs }) };
}

/** What shadow rules would have done, if that differs from the actual effect. */
export function beyondEffect(effect: DecisionEffect, wouldBe: DecisionEffect): Pick<Decision, 'wouldHave'> {
  return wouldBe === effect ? {} : { wouldHave: wouldBe };
}

/** Content of a decision and what it is based on. */
interface DecidedCall {
  readonly outcome: DecisionOutcome;
  readonly ruling?: Pick<Ruling, 'findings'>;
  readonly reservationId?: string;
}

/** Assembles a decision. The evaluator and gateways that decide share it. */
export function decisionOf(
  { tenantId, agentId, runId, phase, tool, callId }: DecisionRequest,
  { decisionId: id, argsHash: inputsDigest }: Pick<CallIdentity, 'decisionId' | 'argsHash'>,
  nowMs: number,
  { outcome, ruling, reservationId }: DecidedCall,
  bypasses: RuleBypass[],
  latencyMs: number,
): Decision {
  return {
    ...{ id, tenantId, agentId, runId, phase },
    ...(tool === undefined ? {} : { toolName: recordedToolName(tool.name) }),
    ...(callId === undefined ? {} : { callId }),
    ...outcome,
    evaluatedRules: [...(ruling?.findings ?? [])],
    ...(reservationId === undefined ? {} : { reservationId }),
    ...{ bypasses, inputsDigest, latencyMs, decidedAt: new Date(nowMs).toISOString() },
  };
}
