import {
  canonicalJson,
  type Decision,
  type DecisionRequest,
  type GuardrailRule,
  type RuleDraft,
  sha256Hex,
} from '@agentlens/contracts';
import { activate, DecisionBook, decide, factsNeeded, type PastCall, type ValidDraft } from '@agentlens/guardrails';

const DRAFT_ID = 'draft';

/** A call to try a draft on, with the earlier calls of its run. */
interface Trial {
  readonly request: DecisionRequest;
  readonly history: readonly PastCall[];
  readonly nowMs: number;
}

type TrialAnswer =
  | { readonly asked: false; readonly why: string }
  | {
      readonly asked: true;
      readonly matched: boolean;
      readonly effect: Decision['effect'];
      readonly message: string;
      readonly bypass?: Decision['bypasses'][number];
      readonly modifiedArgs?: unknown;
    };

/**
 * Evaluates one call against this draft alone and returns what the evaluator would answer. Counts over time are not
 * available here, so a rule that needs them applies its `onUnavailable` setting and the answer records that.
 */
export function tryRule(draft: ValidDraft, { request, history, nowMs }: Trial): TrialAnswer {
  const active = activate(ruleOf(draft, request.tenantId));
  if (!active.ok) return { asked: false, why: active.reason };
  if (active.value.cadence !== 'call') {
    return { asked: false, why: 'This rule measures past events. It is not evaluated before a call.' };
  }
  const book = DecisionBook.EMPTY.withTenant(request.tenantId, [active.value]);
  const rules = book.matching(request);
  if (rules.length === 0)
    return { asked: false, why: 'This rule does not apply to such calls: check its agent, tools and phase.' };
  const needs = factsNeeded(rules, request);
  const facts = {
    needs,
    argsHash: sha256Hex(canonicalJson(request.args ?? null)),
    history,
    ...(needs.series.length === 0 ? {} : { totals: 'unavailable' as const }),
  };
  const { findings, effect, message, bypasses, modifiedArgs } = decide(rules, request, facts, nowMs);
  return {
    asked: true,
    matched: findings.some(({ matched }) => matched),
    effect,
    message,
    ...(bypasses[0] === undefined ? {} : { bypass: bypasses[0] }),
    ...(modifiedArgs === undefined ? {} : { modifiedArgs }),
  };
}

/** The trial always enforces the draft, regardless of its mode, to show what it would do. */
function ruleOf(draft: ValidDraft | RuleDraft, tenantId: string): GuardrailRule {
  const at = new Date(0).toISOString();
  return {
    ...(draft as ValidDraft),
    enabled: true,
    mode: 'enforce',
    dryRun: false,
    id: DRAFT_ID,
    tenantId,
    version: 1,
    createdAt: at,
    updatedAt: at,
  };
}
