import type { DecisionPhase } from '../wire/contract.ts';
import type { WireDecision } from '../wire/decision.ts';
import type { EvaluateRequest } from '../wire/server.ts';

/** A question as the double gets it. */
export interface AskedQuestion extends EvaluateRequest {
  readonly runId: string;
}

/** What the double should answer: a decision, or that a human has to be asked. */
export type ScriptedAnswer =
  | WireDecision
  | { readonly needsApproval: true; readonly ruleId: string; readonly message: string };

/** Answers questions; undefined leaves them to the next one, and in the end to `allow`. */
export type Answerer = (question: AskedQuestion) => ScriptedAnswer | undefined;

const BASE = { evaluatedRules: [], message: '' } as const;

export function allow(): WireDecision {
  return { ...BASE, verdict: 'ALLOW', control: 'CONTINUE', cause: { kind: 'ALLOW' } };
}

/** This call does not happen; the run goes on. */
export function block(message = 'Blocked by rule "test"', ruleId = 'test'): WireDecision {
  return {
    verdict: 'BLOCK',
    control: 'CONTINUE',
    cause: { kind: 'RULE_VIOLATION', ruleId },
    message,
    evaluatedRules: [{ ruleId, enabled: true, matched: true, violated: true }],
    finalRuleId: ruleId,
  };
}

/** The run is over. */
export function terminate(message = 'The run is ended by rule "test"', ruleId = 'test'): WireDecision {
  return { ...block(message, ruleId), control: 'TERMINATE' };
}

/** The call happens with these arguments instead. */
export function modify(modifiedArgs: unknown): WireDecision {
  return { ...allow(), message: 'Arguments changed by rule "test"', modifiedArgs };
}

/** Pending until `approvals.approve` or `.deny`; each call has its own. */
export function needApproval(ruleId = 'test', message = 'A human has to approve this call'): ScriptedAnswer {
  return { needsApproval: true, ruleId, message };
}

export interface TestRule {
  /** `*` stands for any text; no case. Absent: every tool. */
  readonly tools?: readonly string[];
  /** Default: before tools. */
  readonly phases?: readonly DecisionPhase[];
  /** Looks at the whole question. */
  readonly when?: (question: AskedQuestion) => boolean;
  readonly answer: ScriptedAnswer | ((question: AskedQuestion) => ScriptedAnswer);
}
