import { visible } from '../../../../libs/contracts/src/visible.ts';
import { ruleWords } from '../../../../libs/guardrails/src/words/rule-words.ts';
import type { Rule } from '../api/model.ts';

/** What a rule does, on one line; the whole sentence is its title. */
export function RuleSentence({ rule }: { rule: Rule }) {
  const words = visible(ruleWords(rule));
  return (
    <span className="rule-sentence clip" title={words}>
      {words}
    </span>
  );
}
