import type { Decision } from '../wire/decision.ts';
import type { DecisionQuestion } from './decider.ts';

/**
 * Remembers the refusal that ended the run: a rule that terminates, or failing closed. An operator's order, a breaker
 * and a question to a human are not remembered, because each of them can be lifted.
 */
export class RunStop {
  #decision: Decision | undefined;

  get decision(): Decision | undefined {
    return this.#decision;
  }

  /** The same refusal for another call of the run; undefined while the run goes on. */
  repeated({ phase, callId, args }: DecisionQuestion): Decision | undefined {
    return this.#decision === undefined ? undefined : { ...this.#decision, phase, callId, args, source: 'local' };
  }

  noted(decision: Decision): Decision {
    if (this.#decision === undefined && endsTheRun(decision)) this.#decision = decision;
    return decision;
  }
}

function endsTheRun({ verdict, control, cause, source }: Decision): boolean {
  if (verdict !== 'BLOCK' || control !== 'TERMINATE') return false;
  return cause.kind === 'RULE_VIOLATION' || source === 'fallback';
}
