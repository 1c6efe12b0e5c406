/**
 * What a condition says of a call. `missing`: the call lacks what is looked at; `unavailable`: what had to be fetched
 * could not be. Both are answered by the rule's own settings.
 */
export type DecisionAnswer = boolean | 'missing' | 'unavailable';

/** One no settles it; else what could not be told makes the whole untold. */
export function allOf(answers: readonly DecisionAnswer[]): DecisionAnswer {
  return firstOf(answers, false, true);
}

/** One yes settles it; else what could not be told makes the whole untold. */
export function anyOf(answers: readonly DecisionAnswer[]): DecisionAnswer {
  return firstOf(answers, true, false);
}

export function not(answer: DecisionAnswer): DecisionAnswer {
  return typeof answer === 'boolean' ? !answer : answer;
}

function firstOf(answers: readonly DecisionAnswer[], settling: boolean, otherwise: boolean): DecisionAnswer {
  if (answers.includes(settling)) return settling;
  if (answers.includes('unavailable')) return 'unavailable';
  return answers.includes('missing') ? 'missing' : otherwise;
}
