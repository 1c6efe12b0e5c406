import type { DecisionCause, DecisionPhase, RuleBypass } from './contract.ts';
import type { Bypass } from './failures.ts';

export interface EvaluatedRule {
  readonly ruleId: string;
  readonly enabled: boolean;
  readonly matched: boolean;
  readonly violated: boolean;
}

/** The server's answer to a decision request. It names rules, never their limits. */
export interface WireDecision {
  readonly verdict: 'ALLOW' | 'BLOCK';
  readonly control: 'CONTINUE' | 'TERMINATE';
  readonly cause: DecisionCause;
  readonly message: string;
  readonly evaluatedRules: readonly EvaluatedRule[];
  readonly finalRuleId?: string;
  /** Arguments to use instead of the requested ones. */
  readonly modifiedArgs?: unknown;
  /** Budget reservation for this model call; returned with its result. */
  readonly reservationId?: string;
  /** What could not be evaluated. */
  readonly bypasses?: readonly RuleBypass[];
}

/** A decision as the agent receives it. */
export interface Decision extends WireDecision {
  readonly phase: DecisionPhase;
  /** Links the question, the approval and the result of one call. */
  readonly callId: string;
  /** Arguments to call the tool with: the given or the modified ones. */
  readonly args: unknown;
  /** Who decided: this process, the server, or the fallback (`failMode` or a rule's setting). */
  readonly source: 'local' | 'remote' | 'fallback';
  /** Why no decision was made, for `fallback`. */
  readonly bypass?: Bypass;
  /** In shadow mode `verdict` is always ALLOW; this is the real decision. */
  readonly shadowed?: Pick<WireDecision, 'verdict' | 'control' | 'cause' | 'message' | 'finalRuleId'>;
}

export type { Bypass };

const CAUSE_FIELDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['ALLOW', []],
  ['RULE_VIOLATION', ['ruleId']],
  ['HITL_PENDING', ['approvalId']],
  ['LOCKDOWN', []],
]);

/** Null for anything but a complete decision. */
export function readDecision(body: unknown): WireDecision | null {
  if (!isRecord(body)) return null;
  const { verdict, control, cause, message, evaluatedRules, finalRuleId, modifiedArgs, reservationId, bypasses } = body;
  if (verdict !== 'ALLOW' && verdict !== 'BLOCK') return null;
  if (control !== 'CONTINUE' && control !== 'TERMINATE') return null;
  if (!isCause(cause) || typeof message !== 'string') return null;
  if (!Array.isArray(evaluatedRules) || !evaluatedRules.every(isEvaluatedRule)) return null;
  if (finalRuleId !== undefined && typeof finalRuleId !== 'string') return null;
  return {
    ...{ verdict, cause, message, evaluatedRules },
    // An older platform answers TERMINATE; a call that waits for a person does not end its run.
    control: cause.kind === 'HITL_PENDING' ? 'CONTINUE' : control,
    ...(finalRuleId === undefined ? {} : { finalRuleId }),
    ...('modifiedArgs' in body ? { modifiedArgs } : {}),
    ...(typeof reservationId === 'string' ? { reservationId } : {}),
    ...bypassesOf(bypasses),
  };
}

/** Parsed JSON, or undefined. */
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

/** An unreadable bypass counts as a decision that was not made; it must not be ignored. */
const UNREADABLE: RuleBypass = { ruleId: '*', why: 'error', did: 'allow' };

function bypassesOf(given: unknown): { readonly bypasses?: readonly RuleBypass[] } {
  if (given == null) return {};
  if (!Array.isArray(given)) return { bypasses: [UNREADABLE] };
  return given.length === 0 ? {} : { bypasses: given.map((item: unknown) => (isBypass(item) ? item : UNREADABLE)) };
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
