import type { GuardrailRule, JsonObject } from '@agentlens/contracts';

/** `x.matches(…)` and `matches(…)`; the word in a text of the expression counts too, which errs on the safe side. */
const MATCHES = /\bmatches\s*\(/;

/** Where a rule holds a regular expression of its author, as a path into the rule; null: it holds none. */
export function patternPath({
  conditionType,
  conditionConfig,
}: Pick<GuardrailRule, 'conditionType' | 'conditionConfig'>) {
  return within(conditionType, conditionConfig, 'conditionConfig');
}

function within(type: string, config: JsonObject, path: string): string | null {
  if (type === 'tool_argument') return config.operator === 'regex' ? `${path}.value` : null;
  if (type === 'expression') return MATCHES.test(String(config.expression)) ? `${path}.expression` : null;
  for (const [key, member] of Object.entries(config)) {
    const found = nested(member, `${path}.${key}`);
    if (found !== null) return found;
  }
  return null;
}

/** Conditions inside of others are `{ type, config }`, alone or in lists. */
function nested(value: unknown, path: string): string | null {
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      const found = nested(item, `${path}.${at}`);
      if (found !== null) return found;
    }
    return null;
  }
  if (typeof value !== 'object' || value === null || !('type' in value) || !('config' in value)) return null;
  const { type, config } = value as { readonly type: unknown; readonly config: unknown };
  if (typeof config !== 'object' || config === null) return null;
  return within(String(type), config as JsonObject, `${path}.config`);
}
