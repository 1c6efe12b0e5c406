import type { GuardrailRule, JsonObject, ProblemDetail } from '@agentlens/contracts';
import { type EgressPolicy, refuseAddress } from '@agentlens/egress';
import { ACTIONS, patternPath, type ValidatedRule, type ValidDraft } from '@agentlens/guardrails';

/** The addresses of an action that may not be called. An unchanged address is checked when it is called. */
export function refusedAddresses(
  { actionType, actionConfig }: Pick<ValidDraft, 'actionType' | 'actionConfig'>,
  policy: EgressPolicy,
  before: JsonObject = {},
): ProblemDetail[] {
  const details: ProblemDetail[] = [];
  for (const key of ACTIONS.get(actionType)?.addresses ?? []) {
    const address = actionConfig[key];
    if (typeof address !== 'string' || address === before[key]) continue;
    const reason = refuseAddress(address, policy);
    if (reason !== null) details.push({ path: `actionConfig.${key}`, message: reason });
  }
  return details;
}

/**
 * Maximum number of a tenant's rules with regular expressions. Each takes memory permanently, and time on every call it
 * applies to.
 */
export const MAX_PATTERN_RULES = 50;

/** Reads the tenant's rules within the current change. */
type OtherRules = () => Promise<readonly GuardrailRule[]>;

/** Returns a refusal if `rules`, added to those of the tenant, exceed the quota; null if they may be stored. */
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
  if (held + added.length <= MAX_PATTERN_RULES) return null;
  const message = `exceeds the limit of regular expressions: at most ${MAX_PATTERN_RULES} rules of a tenant may have them, and ${held} others do`;
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
