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

/** A call to try a draft on, with the calls of its run that came before it. */
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
 * What this draft, and no other rule, would say of a call, as the evaluator would answer it. What the draft counts over time
 * is not known here, so such a rule does what its `onUnavailable` says and the answer says so.
 */
export function tryRule(draft: ValidDraft, { request, history, nowMs }: Trial): TrialAnswer {
  const active = activate(ruleOf(draft, request.tenantId));
  if (!active.ok) return { asked: false, why: active.reason };
  if (active.value.cadence !== 'call') {
    return { asked: false, why: 'This rule is measured on what happened, not asked about a call before it is made.' };
  }
  const book = DecisionBook.EMPTY.withTenant(request.tenantId, [active.value]);
  const rules = book.matching(request);
  if (rules.length === 0)
    return { asked: false, why: 'This rule is not about such calls: look at agent, tools and phase.' };
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

/** Enforced for the trial, whatever the draft says: the question is what it would do. */
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
