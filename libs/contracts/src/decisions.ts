import { z } from 'zod';
import { sha256Hex } from '#sha256';
import { canonicalJson } from './canonical-form.ts';
import { ClientId, Instant, TenantId } from './ids.ts';

export const DECISION_PHASES = ['tool.before', 'tool.after', 'llm.before'] as const;
/** The moment an agent asks about: before or after a tool call, or before a model call. */
export const DecisionPhase = z.enum(DECISION_PHASES);
export type DecisionPhase = z.infer<typeof DecisionPhase>;

/** Most characters of a tool's name in a question. */
export const TOOL_NAME_CHARS = 1024;

/** On whose behalf a run acts. Metadata values are text; rules read them as end-user tags. */
export const Actor = z.object({
  externalId: ClientId,
  name: z.string().max(256).optional(),
  metadata: z.record(z.string(), z.string()).optional(),
});
export type Actor = z.infer<typeof Actor>;

/** Something a call is about, such as a customer or an account. */
export const Subject = z.object({
  subjectType: z.string().max(256),
  value: z.string().max(256),
  role: z.string().max(256).optional(),
  idSystem: z.string().max(256).optional(),
});
export type Subject = z.infer<typeof Subject>;

/** How far up a run is asked for those that led to it. */
export const MAX_ANCESTORS = 32;

/**
 * A content that is here in part only: what cannot be read, or is too large to be handed over, is left out, and lists end
 * where that begins. Every value that is here is as the client sent it. Its `sha256` (hex) stands for the whole.
 */
export const UnreadContent = z.object({ reason: z.enum(['unreadable', 'too_large']), sha256: z.string() });
export type UnreadContent = z.infer<typeof UnreadContent>;

/** "May this happen?", as the gateway hands it to the evaluator. */
export const DecisionRequest = z.object({
  tenantId: TenantId,
  agentId: ClientId,
  runId: ClientId,
  phase: DecisionPhase,
  tool: z.object({ name: z.string().min(1).max(TOOL_NAME_CHARS), tags: z.array(z.string()) }).optional(),
  /** The client's id of this call; absent in clients that have none. */
  callId: ClientId.optional(),
  /** The same on every retry of one question, where the client has no call id. */
  requestId: ClientId.optional(),
  /** Id of the key it was asked with. */
  askedBy: z.string().optional(),
  /** Runs that led to this one, nearest first, as far as the gateway knows them: an order for one of them holds for this. */
  ancestors: z.array(ClientId).max(MAX_ANCESTORS).optional(),
  /** Groups runs; absent: the run is a session of its own. */
  sessionId: ClientId.optional(),
  /** Where the run's start named others than this question does: the call has to be allowed for both. */
  startedAs: z
    .object({ agentId: ClientId.optional(), sessionId: ClientId.optional(), actor: Actor.optional() })
    .optional(),
  args: z.unknown().optional(),
  result: z.unknown().optional(),
  /** Absent where both are here whole. */
  unread: z.object({ args: UnreadContent.optional(), result: UnreadContent.optional() }).optional(),
  /**
   * SHA-256 (hex) of the arguments as the client wrote them, where others have the same canonical form: a number beyond
   * double precision, a text that was mended. An approval covers exactly these.
   */
  exactArgs: z.string().optional(),
  /**
   * The arguments as the client wrote them, where reading them loses digits: what a human is shown. Null: that is more than
   * can be handed over.
   */
  writtenArgs: z.string().nullable().optional(),
  /** The tenant wants its decisions to keep the arguments, redacted. */
  keepsArguments: z.boolean().optional(),
  /** A call that a person denied is put before a person again if its run repeats it. */
  asksAgain: z.boolean().optional(),
  actor: Actor.optional(),
  tags: z.record(z.string(), z.string()),
  subjects: z.array(Subject),
  /** Deltas since the agent's last question, by metric key (bytes_in, llm_tokens_in, duration_ms, custom keys). */
  metrics: z.record(z.string(), z.number()),
  /** What a model call is expected to use; reserved from budgets until it is settled. */
  estimate: z.object({ tokens: z.number().nonnegative(), costUsd: z.number().nonnegative() }).optional(),
  receivedAt: Instant,
  /** Time left to answer, ms; then each stateful rule does what its `onUnavailable` says. */
  deadlineMs: z.number().positive(),
});
export type DecisionRequest = z.infer<typeof DecisionRequest>;

/** SHA-256 (hex) of a content of a call, the same for the same content however much of it is here. */
export function contentHash(request: Pick<DecisionRequest, 'args' | 'result' | 'unread'>, part: 'args' | 'result') {
  return request.unread?.[part]?.sha256 ?? sha256Hex(canonicalJson(request[part] ?? null));
}

/** From mild to severe; the most severe effect of all matched rules wins. */
export const DECISION_EFFECTS = ['allow', 'modify', 'ask', 'block', 'terminate'] as const;
export const DecisionEffect = z.enum(DECISION_EFFECTS);
export type DecisionEffect = z.infer<typeof DecisionEffect>;

/** The four causes the agent protocol knows. A tripped breaker and a pause are lockdowns; a spent budget is a rule. */
export const DecisionCause = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ALLOW') }),
  z.object({ kind: z.literal('RULE_VIOLATION'), ruleId: z.string() }),
  z.object({ kind: z.literal('HITL_PENDING'), approvalId: z.string(), ruleId: z.string().optional() }),
  z.object({ kind: z.literal('LOCKDOWN'), lockdownId: z.string().optional() }),
]);
export type DecisionCause = z.infer<typeof DecisionCause>;

/** What one rule said; `violated` is true where it matched and asked for more than allowing. */
export const RuleFinding = z.object({
  ruleId: z.string(),
  ruleVersion: z.int().min(1),
  enabled: z.boolean(),
  matched: z.boolean(),
  violated: z.boolean(),
  effect: DecisionEffect,
  mode: z.enum(['enforce', 'shadow']),
  /** What a rule that matched measured and held against its limit, in the unit of its condition. For people only. */
  value: z.number().optional().meta({ description: 'What the rule measured, where it matched and measures a number.' }),
  limit: z.number().optional().meta({ description: 'What the value was held against, in the same unit.' }),
});
export type RuleFinding = z.infer<typeof RuleFinding>;

/** A rule that could not be evaluated and was passed or enforced by its own setting. */
export const RuleBypass = z.object({
  ruleId: z.string(),
  why: z.enum(['missing', 'unavailable', 'deadline', 'error']),
  did: z.enum(['allow', 'block']),
});
export type RuleBypass = z.infer<typeof RuleBypass>;

/** What settled a decision that did not simply allow the call. `unjudged`: no rule could be evaluated in time. */
export const DECISION_REASONS = ['rule', 'approval', 'budget', 'breaker', 'order', 'unjudged'] as const;
export const DecisionReason = z.enum(DECISION_REASONS);
export type DecisionReason = z.infer<typeof DecisionReason>;

/**
 * The answer, as it is published and stored. What an agent gets of it (`decisionBody`) names rules, never their limits;
 * `value` and `limit` of findings are for people.
 */
export const Decision = z.object({
  id: z.string(),
  tenantId: TenantId,
  agentId: ClientId,
  runId: ClientId,
  phase: DecisionPhase,
  toolName: z.string().optional(),
  callId: ClientId.optional(),
  /** What the agent is told. In shadow everywhere ALLOW. */
  verdict: z.enum(['ALLOW', 'BLOCK']),
  control: z.enum(['CONTINUE', 'TERMINATE']),
  /** What was done to the call. */
  effect: DecisionEffect,
  /** What would have been done with rules in shadow enforced too, where that is more. */
  wouldHave: DecisionEffect.optional(),
  cause: DecisionCause,
  message: z.string(),
  evaluatedRules: z.array(RuleFinding),
  finalRuleId: z.string().optional(),
  /** Absent where nothing stood in the way, and in decisions of earlier versions. */
  reason: DecisionReason.optional(),
  /** With reason `budget`. */
  budgetId: z.string().optional(),
  /** With effect `modify`: the arguments to use instead. Not stored. */
  modifiedArgs: z.unknown().optional(),
  approvalId: z.string().optional(),
  /** What the estimate set aside; ended by the event of the same call, or by `settleReservation`. */
  reservationId: z.string().optional(),
  bypasses: z.array(RuleBypass),
  /** The arguments, redacted, where the tenant keeps them and they are small. Only in what is published and stored. */
  arguments: z.unknown().optional(),
  /** Of larger ones: how their redacted JSON text begins, and how long it is, bytes. */
  argumentsCut: z.object({ start: z.string(), bytes: z.int() }).optional(),
  /** SHA-256 (hex) of the canonical arguments. */
  inputsDigest: z.string(),
  latencyMs: z.number().nonnegative(),
  decidedAt: Instant,
});
export type Decision = z.infer<typeof Decision>;
