import type { Bypass } from './bypasses.ts';
import type { DecisionCause, DecisionPhase, RuleBypass } from './contract.ts';

export interface EvaluatedRule {
  readonly ruleId: string;
  readonly enabled: boolean;
  readonly matched: boolean;
  readonly violated: boolean;
}

/** What the server answers to "may this happen?". Names rules, never their limits. */
export interface WireDecision {
  readonly verdict: 'ALLOW' | 'BLOCK';
  readonly control: 'CONTINUE' | 'TERMINATE';
  readonly cause: DecisionCause;
  readonly message: string;
  readonly evaluatedRules: readonly EvaluatedRule[];
  readonly finalRuleId?: string;
  /** The arguments to use instead of those that were asked about. */
  readonly modifiedArgs?: unknown;
  /** Set aside from budgets for this model call; handed back with its result. */
  readonly reservationId?: string;
  /** What could not be evaluated. */
  readonly bypasses?: readonly RuleBypass[];
}

/** A decision as the agent gets it. */
export interface Decision extends WireDecision {
  readonly phase: DecisionPhase;
  /** Binds the question, an approval and the result of one call to each other. */
  readonly callId: string;
  /** The arguments to call the tool with: those given, or the modified ones. */
  readonly args: unknown;
  /** Who decided: this process, the server, or nobody (`fallback`: what `failMode` or a rule says then). */
  readonly source: 'local' | 'remote' | 'fallback';
  /** Where nobody decided: why. */
  readonly bypass?: Bypass;
  /** In shadow mode `verdict` is always ALLOW and this is what it would have been. */
  readonly shadowed?: Pick<WireDecision, 'verdict' | 'control' | 'cause' | 'message' | 'finalRuleId'>;
}

export type { Bypass };

const CAUSE_FIELDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['ALLOW', []],
  ['RULE_VIOLATION', ['ruleId']],
  ['HITL_PENDING', ['approvalId']],
  ['LOCKDOWN', []],
]);

/** Null for anything that is not a whole decision: half an answer is no answer. */
export function readDecision(body: unknown): WireDecision | null {
  if (!isRecord(body)) return null;
  const { verdict, control, cause, message, evaluatedRules, finalRuleId, modifiedArgs, reservationId, bypasses } = body;
  if (verdict !== 'ALLOW' && verdict !== 'BLOCK') return null;
  if (control !== 'CONTINUE' && control !== 'TERMINATE') return null;
  if (!isCause(cause) || typeof message !== 'string') return null;
  if (!Array.isArray(evaluatedRules) || !evaluatedRules.every(isEvaluatedRule)) return null;
  if (finalRuleId !== undefined && typeof finalRuleId !== 'string') return null;
  return {
    ...{ verdict, control, cause, message, evaluatedRules },
    ...(finalRuleId === undefined ? {} : { finalRuleId }),
    ...('modifiedArgs' in body ? { modifiedArgs } : {}),
    ...(typeof reservationId === 'string' ? { reservationId } : {}),
    ...bypassesOf(bypasses),
  };
}

/** Parsed, or undefined where the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCause(cause: unknown): cause is DecisionCause {
  if (!isRecord(cause) || typeof cause.kind !== 'string') return false;
  return CAUSE_FIELDS.get(cause.kind)?.every((field) => typeof cause[field] === 'string') ?? false;
}

/** What cannot be read stands for a decision that was not made: it must not look like none. */
const UNREADABLE: RuleBypass = { ruleId: '*', why: 'error', did: 'allow' };

function bypassesOf(told: unknown): { readonly bypasses?: readonly RuleBypass[] } {
  if (told == null) return {};
  if (!Array.isArray(told)) return { bypasses: [UNREADABLE] };
  return told.length === 0 ? {} : { bypasses: told.map((item: unknown) => (isBypass(item) ? item : UNREADABLE)) };
}

function isBypass(item: unknown): item is RuleBypass {
  return isRecord(item) && [item.ruleId, item.why, item.did].every((field) => typeof field === 'string');
}

function isEvaluatedRule(item: unknown): item is EvaluatedRule {
  return (
    isRecord(item) &&
    typeof item.ruleId === 'string' &&
    typeof item.enabled === 'boolean' &&
    typeof item.matched === 'boolean' &&
    typeof item.violated === 'boolean'
  );
}
