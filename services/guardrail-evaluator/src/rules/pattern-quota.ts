import type { GuardrailRule } from '@agentlens/contracts';
import { patternPath, type ValidatedRule } from '@agentlens/guardrails';

/** Rules of one tenant that may hold regular expressions: each costs memory for good and time on every call it is about. */
export const MOST_PATTERN_RULES = 50;

/** The rules that a tenant has while a change of them is in hand. */
type OtherRules = () => Promise<readonly GuardrailRule[]>;

/** A refusal where `rules`, added to what the tenant has, would be too many with patterns; null: they may be stored. */
export async function overPatternQuota(
  rules: readonly GuardrailRule[],
  others: OtherRules,
): Promise<ValidatedRule<never> | null> {
  const added = rules.flatMap((rule, at) => {
    const path = patternPath(rule);
    return path === null ? [] : [rules.length === 1 ? path : `rules.${at}`];
  });
  const path = added[0];
  if (path === undefined) return null;
  const ids = new Set(rules.map(({ id }) => id));
  const held = (await others()).filter((rule) => !ids.has(rule.id) && patternPath(rule) !== null).length;
  if (held + added.length <= MOST_PATTERN_RULES) return null;
  const message = `is one regular expression too many: at most ${MOST_PATTERN_RULES} rules of a tenant may have them, ${held} others do`;
  return {
    ok: false,
    problem: {
      error: 'Validation failed',
      status: 400,
      details: [{ path, message }],
      hint: 'Use contains, startsWith, endsWith or a glob, join patterns with "|", or delete a rule that has one',
    },
  };
}
