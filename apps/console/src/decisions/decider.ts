import { ASK_WORDS } from '../../../../libs/guardrails/src/words/ask-words.ts';
import type { Decision, DecisionPaths } from '../api/model.ts';

/** Who made a decision, in words; those about a gateway with rules end before the version. */
export function deciderWords({ by, book, asked }: NonNullable<Decision['decider']>): string {
  if (by === 'evaluator') return asked === undefined ? 'At the evaluator' : `At the evaluator: ${ASK_WORDS[asked]}`;
  return book === undefined
    ? 'At the gateway, because the evaluator did not answer'
    : 'At the gateway, rules as of version';
}

/** Explains why gateways decide nothing; undefined if they decide. */
export function pathsHint({ gateway, evaluator, unanswered, asked }: DecisionPaths): string | undefined {
  if (gateway + evaluator + unanswered === 0) return 'No decisions.';
  if (gateway > 0 || asked.length > 0) return undefined;
  return 'Gateways ask the evaluator about every call. To let them decide, unset AGENTLENS_DECISION_PATH.';
}
