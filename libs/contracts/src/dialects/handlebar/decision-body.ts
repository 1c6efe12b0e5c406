import type { Decision, DecisionCause } from '../../decisions.ts';

/** A decision in the Handlebar SDK's format, which requires every field except `finalRuleId`. */
export interface DecisionBody {
  readonly verdict: Decision['verdict'];
  readonly control: Decision['control'];
  readonly cause: DecisionCause;
  readonly message: string;
  readonly evaluatedRules: readonly {
    readonly ruleId: string;
    readonly enabled: boolean;
    readonly matched: boolean;
    readonly violated: boolean;
  }[];
  readonly finalRuleId?: string;
}

/** Additional fields for clients that support AgentLens extensions. */
export interface DecisionExtras {
  readonly decisionId: string;
  /** The most severe effect of all rules, enforced or not. */
  readonly effect: Decision['effect'];
  readonly approvalId?: string;
  /** The budget that rejected the call. */
  readonly budgetId?: string;
  readonly modifiedArgs?: unknown;
  readonly reservationId?: string;
  readonly bypasses: Decision['bypasses'];
}

/** Contains only the fields that the Handlebar SDK knows, because it may reject others. */
export function decisionBody(decision: Decision): DecisionBody {
  const { verdict, control, cause, message, evaluatedRules, finalRuleId } = decision;
  return {
    verdict,
    control,
    cause,
    message,
    evaluatedRules: evaluatedRules.map(({ ruleId, enabled, matched, violated }) => ({
      ruleId,
      enabled,
      matched,
      violated,
    })),
    ...(finalRuleId === undefined ? {} : { finalRuleId }),
  };
}

/** `decisionBody` with the AgentLens extensions. */
export function decisionBodyWithExtras(decision: Decision): DecisionBody & DecisionExtras {
  const { id, effect, wouldHave, approvalId, budgetId, modifiedArgs, reservationId, bypasses } = decision;
  return {
    ...decisionBody(decision),
    decisionId: id,
    effect: wouldHave ?? effect,
    ...(approvalId === undefined ? {} : { approvalId }),
    ...(budgetId === undefined ? {} : { budgetId }),
    ...(modifiedArgs === undefined ? {} : { modifiedArgs }),
    ...(reservationId === undefined ? {} : { reservationId }),
    // What a rule in shadow lacked is for people; an agent that fails closed would stop because of it.
    bypasses: bypasses.filter(({ why }) => why !== 'canary_unit'),
  };
}
