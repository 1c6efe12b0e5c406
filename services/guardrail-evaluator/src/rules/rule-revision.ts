import { type GuardrailRule, type RuleChangeAuthor, type RuleChangeSource, timeOrderedId } from '@agentlens/contracts';
import { ruleChanges, type ValidDraft } from '@agentlens/guardrails';
import type { SecretBox } from '@agentlens/platform';
import { masked, sealed } from './rule-secrets.ts';
import type { RuleRevision } from './rule-transaction.ts';

/** How a change is recorded: by which way it came, from whom and why. */
export interface ChangeOrigin extends RuleChangeAuthor {
  readonly source: RuleChangeSource;
}

/** The first version of a rule. */
export function newRule(tenantId: string, draft: ValidDraft, nowMs: number): GuardrailRule {
  const at = new Date(nowMs).toISOString();
  return { ...draft, id: timeOrderedId(nowMs), tenantId, version: 1, createdAt: at, updatedAt: at };
}

/** The next version of a rule, which says what `draft` says. */
export function nextRule(existing: GuardrailRule, draft: ValidDraft, nowMs: number): GuardrailRule {
  const { id, tenantId, createdAt, key, ruleset, appliedVersion } = existing;
  // Never backwards, whichever instance's clock is behind: the poll goes by it.
  const updatedAt = new Date(Math.max(nowMs, Date.parse(existing.updatedAt))).toISOString();
  const version = existing.version + 1;
  return { ...draft, id, tenantId, version, createdAt, updatedAt, key, ruleset, appliedVersion };
}

/** What is stored of a version whose secrets are open, as is the version before; null: there was none. */
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

/** The last version of a rule, which deletes it; `opened` is the same with its secrets open. */
export function deletion(
  { existing, opened }: { readonly existing: GuardrailRule; readonly opened: GuardrailRule },
  { source, by, reason, author }: ChangeOrigin,
  nowMs: number,
): RuleRevision {
  // The secrets stay sealed as they are.
  const rule = nextRule(existing, existing, nowMs);
  const shown = { before: masked(opened) };
  return { rule, deleted: true, changes: [], shown, source, by, reason, author };
}
