import { type GuardrailRule, type RuleChangeAuthor, type RuleChangeSource, timeOrderedId } from '@agentlens/contracts';
import { changesMeaning, mapActionSecrets, maskSecret, ruleChanges, type ValidDraft } from '@agentlens/guardrails';
import type { SecretBox } from '@agentlens/platform';
import type { RuleRevision } from './rule-transaction.ts';

/** Binds a sealed secret to its rule. */
function contextOf({ tenantId, id }: GuardrailRule): string[] {
  return [tenantId, 'guardrail_rules', id];
}

/**
 * The rule as it is stored. Seals every secret, even text that looks sealed: it comes from a client like any other
 * text.
 */
export function sealed(rule: GuardrailRule, box: SecretBox): GuardrailRule {
  const seal = (text: string) => box.seal(text, contextOf(rule));
  return { ...rule, actionConfig: mapActionSecrets(rule.actionType, rule.actionConfig, seal) };
}

/**
 * The stored rule with readable secrets. A secret whose key is gone stays sealed, so that the rest of the rule can be
 * changed.
 */
export function opened(rule: GuardrailRule, box: SecretBox): GuardrailRule {
  const open = (text: string) => {
    try {
      return box.open(text, contextOf(rule));
    } catch {
      return text;
    }
  };
  return { ...rule, actionConfig: mapActionSecrets(rule.actionType, rule.actionConfig, open) };
}

/** The rule with masked secrets, safe to show. */
export function masked(rule: GuardrailRule): GuardrailRule {
  return { ...rule, actionConfig: mapActionSecrets(rule.actionType, rule.actionConfig, maskSecret) };
}

/** The source, author and reason of a change. */
export interface ChangeOrigin extends RuleChangeAuthor {
  readonly source: RuleChangeSource;
}

/** Builds the first version of a rule. */
export function newRule(tenantId: string, draft: ValidDraft, nowMs: number): GuardrailRule {
  const at = new Date(nowMs).toISOString();
  return { ...draft, id: timeOrderedId(nowMs), tenantId, version: 1, meaningVersion: 1, createdAt: at, updatedAt: at };
}

/** Builds the next version of a rule, with the content of `draft`. */
export function nextRule(existing: GuardrailRule, draft: ValidDraft, nowMs: number): GuardrailRule {
  const { id, tenantId, createdAt, key, ruleset, appliedVersion, suspended } = existing;
  // Never goes backwards, even if the clock of an instance is behind, because the poll relies on it.
  const updatedAt = new Date(Math.max(nowMs, Date.parse(existing.updatedAt))).toISOString();
  const version = existing.version + 1;
  const changed = changesMeaning(ruleChanges(existing, draft));
  const meaningVersion = changed ? version : (existing.meaningVersion ?? existing.version);
  return {
    ...{ ...draft, id, tenantId, version, meaningVersion, createdAt, updatedAt },
    ...{ key, ruleset, appliedVersion, suspended },
  };
}

/**
 * Builds the stored revision from a version and its predecessor, both with open secrets; null if there was no
 * predecessor.
 */
export function revisionOf(
  before: GuardrailRule | null,
  rule: GuardrailRule,
  { source, by, reason, author }: ChangeOrigin,
  secrets: SecretBox,
): RuleRevision {
  return {
    ...{ rule: sealed(rule, secrets), deleted: false, source, by, reason, author },
    shown: { ...(before === null ? {} : { before: masked(before) }), after: masked(rule) },
    changes: before === null ? [] : ruleChanges(before, rule),
  };
}

/** Builds the last version of a rule, which deletes it. `opened` is the same rule with open secrets. */
export function deletion(
  { existing, opened }: { readonly existing: GuardrailRule; readonly opened: GuardrailRule },
  { source, by, reason, author }: ChangeOrigin,
  nowMs: number,
): RuleRevision {
  // The secrets stay sealed.
  const rule = nextRule(existing, existing, nowMs);
  const shown = { before: masked(opened) };
  return { rule, deleted: true, changes: [], shown, source, by, reason, author };
}
