import type { GuardrailRule, JsonObject, ProblemDetail } from '@agentlens/contracts';
import { hiddenWalk } from '../conditions/expression/compile-expression.ts';

/**
 * `x.matches(…)` and `matches(…)`. Also matches the word inside a string of the expression, which errs on the safe
 * side.
 */
const MATCHES = /\bmatches\s*\(/;

type Conditioned = Pick<GuardrailRule, 'conditionType' | 'conditionConfig'>;

interface PlacedCondition {
  readonly type: string;
  readonly config: JsonObject;
  /** Path in the rule. */
  readonly path: string;
}

/** Returns the path of a regular expression written by the rule's author, or null if there is none. */
export function patternPath(rule: Conditioned): string | null {
  for (const { type, config, path } of conditionsOf(rule)) {
    if (type === 'tool_argument' && config.operator === 'regex') return `${path}.value`;
    if (type === 'expression' && MATCHES.test(String(config.expression))) return `${path}.expression`;
  }
  return null;
}

/**
 * Reports expressions that iterate over a list for each element of another: too costly for new rules, metered in
 * existing ones.
 */
export function hiddenWalks(rule: Conditioned): ProblemDetail[] {
  return conditionsOf(rule).flatMap(({ type, config, path }) => {
    const message = type === 'expression' ? hiddenWalk(String(config.expression)) : null;
    return message === null ? [] : [{ path: `${path}.expression`, message }];
  });
}

/** Returns the condition of a rule and all nested ones, which are `{ type, config }`, alone or in lists. */
function conditionsOf({ conditionType, conditionConfig }: Conditioned): PlacedCondition[] {
  return within({ type: conditionType, config: conditionConfig, path: 'conditionConfig' });
}

function within(condition: PlacedCondition): PlacedCondition[] {
  const { config, path } = condition;
  return [condition, ...Object.entries(config).flatMap(([key, member]) => nested(member, `${path}.${key}`))];
}

function nested(value: unknown, path: string): PlacedCondition[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => nested(item, `${path}.${at}`));
  if (typeof value !== 'object' || value === null || !('type' in value) || !('config' in value)) return [];
  const { type, config } = value as { readonly type: unknown; readonly config: unknown };
  if (typeof config !== 'object' || config === null) return [];
  return within({ type: String(type), config: config as JsonObject, path: `${path}.config` });
}
