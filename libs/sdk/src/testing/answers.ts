import type { DecisionPhase } from '../wire/contract.ts';
import type { WireDecision } from '../wire/decision.ts';
import type { EvaluateRequest } from '../wire/server.ts';

/** A question as the test server receives it. */
export interface AskedQuestion extends EvaluateRequest {
  readonly runId: string;
}

/** Scripted answer: a decision or a required approval. */
export type ScriptedAnswer =
  | WireDecision
  | { readonly needsApproval: true; readonly ruleId: string; readonly message: string };

/** Answers questions; undefined passes the question to the next one, and finally to `allow`. */
export type Answerer = (question: AskedQuestion) => ScriptedAnswer | undefined;

const BASE = { evaluatedRules: [], message: '' } as const;

export function allow(): WireDecision {
  return { ...BASE, verdict: 'ALLOW', control: 'CONTINUE', cause: { kind: 'ALLOW' } };
}

/** Blocks this call; the run goes on. */
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

/** Ends the run. */
export function terminate(message = 'The run is ended by rule "test"', ruleId = 'test'): WireDecision {
  return { ...block(message, ruleId), control: 'TERMINATE' };
}

/** Runs the call with these arguments instead. */
export function modify(modifiedArgs: unknown): WireDecision {
  return { ...allow(), message: 'Arguments changed by rule "test"', modifiedArgs };
}

/** Pending until `approvals.approve` or `.deny`; each call has its own approval. */
export function needApproval(ruleId = 'test', message = 'A human has to approve this call'): ScriptedAnswer {
  return { needsApproval: true, ruleId, message };
}

export interface TestRule {
  /** `*` matches any text; case-insensitive. Default: every tool. */
  readonly tools?: readonly string[];
  /** Default: before tools. */
  readonly phases?: readonly DecisionPhase[];
  /** Receives the whole question. */
  readonly when?: (question: AskedQuestion) => boolean;
  readonly answer: ScriptedAnswer | ((question: AskedQuestion) => ScriptedAnswer);
}
