import type { Decision, DecisionCause } from '../../decisions.ts';

/** A decision as the client in the field reads it: everything but `finalRuleId` is required there. */
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

/** What clients that know our additions get besides. */
export interface DecisionExtras {
  readonly decisionId: string;
  /** The most severe of what rules said, enforced or not. */
  readonly effect: Decision['effect'];
  readonly approvalId?: string;
  /** The budget that refused the call. */
  readonly budgetId?: string;
  readonly modifiedArgs?: unknown;
  readonly reservationId?: string;
  readonly bypasses: Decision['bypasses'];
}

/** Nothing beyond what that client knows: it may refuse an answer with members it does not. */
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

/** The same with our additions. */
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
    bypasses,
  };
}
