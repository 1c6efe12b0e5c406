import { z } from 'zod';
import { sha256Hex } from '#sha256';
import { canonicalJson } from './canonical-form.ts';
import { ClientId, Instant, TenantId } from './ids.ts';

/** When an agent asks: before or after a tool call, or before a model call. */
export const AGENT_PHASES = ['tool.before', 'tool.after', 'llm.before'] as const;
export const AgentPhase = z.enum(AGENT_PHASES);
export type AgentPhase = z.infer<typeof AgentPhase>;

/** The model gateway also asks after a model call: it has the whole answer. */
export const DECISION_PHASES = [...AGENT_PHASES, 'llm.after'] as const;
export const DecisionPhase = z.enum(DECISION_PHASES);
export type DecisionPhase = z.infer<typeof DecisionPhase>;

/** Whether the call of a question has happened, so that nothing new begins and nothing is paid in advance. */
export function hasHappened(phase: DecisionPhase): boolean {
  return phase === 'tool.after' || phase === 'llm.after';
}

/** Maximum length of a tool's name in a request, in characters. */
export const TOOL_NAME_CHARS = 1024;

/** Tool names are cut to this length where they are stored. */
const RECORDED_NAME_CHARS = 256;

/** The name of a tool as decisions, labels and events record it. */
export function recordedToolName(name: string): string {
  return name.slice(0, RECORDED_NAME_CHARS).toWellFormed();
}

/** The end user a run acts for. Metadata values are strings; rules read them as end-user tags. */
export const Actor = z.object({
  externalId: ClientId,
  name: z.string().max(256).optional(),
  metadata: z.record(z.string(), z.string()).optional(),
});
export type Actor = z.infer<typeof Actor>;

/** Subject of a call, such as a customer or an account. */
export const Subject = z.object({
  subjectType: z.string().max(256),
  value: z.string().max(256),
  role: z.string().max(256).optional(),
  idSystem: z.string().max(256).optional(),
});
export type Subject = z.infer<typeof Subject>;

/** Maximum number of ancestors that are followed for a run. */
export const MAX_ANCESTORS = 32;

/** Limit of a run tree that a run exceeds, and its value. */
export const OverTreeLimit = z.object({ limit: z.enum(['depth', 'children', 'runs']), max: z.int().nonnegative() });
export type OverTreeLimit = z.infer<typeof OverTreeLimit>;

const MAX_CHILDREN = 10_000;
const MAX_RUNS = 100_000;

/** Limits of every run tree of a tenant. Null: no limit. */
export const TreeLimits = z.object({
  maxDepth: z
    .int()
    .min(0)
    // A run with more ancestors than are followed is deeper than this.
    .max(MAX_ANCESTORS - 1)
    .nullable()
    .meta({ description: 'Most ancestors of a run; 0 allows no sub-runs.' }),
  maxChildren: z.int().min(1).max(MAX_CHILDREN).nullable().meta({ description: 'Most runs that one run starts.' }),
  maxRuns: z.int().min(1).max(MAX_RUNS).nullable().meta({ description: 'Most runs of a tree, including its root.' }),
});
export type TreeLimits = z.infer<typeof TreeLimits>;

export const NO_TREE_LIMITS: TreeLimits = { maxDepth: null, maxChildren: null, maxRuns: null };

const { maxDepth, maxChildren, maxRuns } = TreeLimits.shape;

/** Request body that sets limits. Strict, so that a misspelled limit is rejected rather than ignored. */
export const TreeLimitsDraft = z.strictObject({
  maxDepth: maxDepth.default(null),
  maxChildren: maxChildren.default(null),
  maxRuns: maxRuns.default(null),
});

/**
 * A truncated part of a call. Values that are unreadable or too large are left out, and lists end at the first of them.
 * Every remaining value is as the client sent it. `sha256` (hex) covers the whole content.
 */
export const UnreadContent = z.object({ reason: z.enum(['unreadable', 'too_large']), sha256: z.string() });
export type UnreadContent = z.infer<typeof UnreadContent>;

/** Why a gateway that decides calls itself asks the evaluator about one. */
export const ASK_REASONS = [
  'setting',
  'stale',
  'approval',
  'other_identity',
  'model_call',
  'usage',
  'budget',
  'breaker',
  'first',
  'needs_state',
  'counted',
  'series',
  'labels',
  'clock',
  'steps',
  'sampled',
] as const;
export type AskReason = (typeof ASK_REASONS)[number];

/** Why a gateway asked the evaluator, and the rule that made it ask, if it was one. */
export const AskedBecause = z.object({
  asked: z.enum(ASK_REASONS).optional().meta({
    description: 'Why a gateway that decides calls itself asked the evaluator about this one.',
  }),
  askedForRule: z.string().optional().meta({ description: 'Id of the rule that made the gateway ask.' }),
});
export type AskedBecause = z.infer<typeof AskedBecause>;

/** Who made a decision. */
export const DecidedBy = AskedBecause.extend({
  by: z.enum(['evaluator', 'gateway']).meta({
    description: 'The gateway also answers if the evaluator does not; it then has no `book`.',
  }),
  book: z.string().optional().meta({ description: 'Version of the rules and settings that the gateway decided by.' }),
});
export type DecidedBy = z.infer<typeof DecidedBy>;

/** Request for a decision about a call, as the gateway sends it to the evaluator. */
export const DecisionRequest = z.object({
  tenantId: TenantId,
  agentId: ClientId,
  runId: ClientId,
  phase: DecisionPhase,
  tool: z.object({ name: z.string().min(1).max(TOOL_NAME_CHARS), tags: z.array(z.string()) }).optional(),
  /** The client's id of this call, if it has one. */
  callId: ClientId.optional(),
  /** Id for deduplication if the client has no call id: the same on every retry of a request. */
  requestId: ClientId.optional(),
  /** Id of the API key of the request. */
  askedBy: z.string().optional(),
  /**
   * Ancestors of this run, nearest first, as far as the gateway knows them. An order for one of them also applies here.
   */
  ancestors: z.array(ClientId).max(MAX_ANCESTORS).optional(),
  /**
   * True if the gateway could not look up all ancestors. Rules about the whole run tree are then unavailable.
   */
  ancestorsUnknown: z.boolean().optional(),
  /** The limit of run trees that this run exceeds. */
  overTreeLimit: OverTreeLimit.optional(),
  /** Absent if the gateway asks about every call. */
  because: AskedBecause.optional(),
  /** Groups runs; if absent, the run is a session of its own. */
  sessionId: ClientId.optional(),
  /** Values from the run's start that differ from this request: the call must be allowed for both. */
  startedAs: z
    .object({ agentId: ClientId.optional(), sessionId: ClientId.optional(), actor: Actor.optional() })
    .optional(),
  args: z.unknown().optional(),
  result: z.unknown().optional(),
  /** Absent if both are complete. */
  unread: z.object({ args: UnreadContent.optional(), result: UnreadContent.optional() }).optional(),
  /**
   * SHA-256 (hex) of the arguments as the client wrote them, if the canonical form is ambiguous: a number beyond double
   * precision, or a repaired text. An approval covers exactly these.
   */
  exactArgs: z.string().optional(),
  /**
   * The arguments as the client wrote them, if parsing loses digits; shown to a reviewer. Null if they are too large.
   */
  writtenArgs: z.string().nullable().optional(),
  /** The tenant stores the redacted arguments with its decisions. */
  keepsArguments: z.boolean().optional(),
  /** If its run repeats a call that a person denied, a person is asked again. */
  asksAgain: z.boolean().optional(),
  actor: Actor.optional(),
  tags: z.record(z.string(), z.string()),
  subjects: z.array(Subject),
  /** Deltas since the agent's last request, by metric key (bytes_in, llm_tokens_in, duration_ms, custom keys). */
  metrics: z.record(z.string(), z.number()),
  /** Expected usage of a model call; reserved from budgets until it is settled. */
  estimate: z.object({ tokens: z.number().nonnegative(), costUsd: z.number().nonnegative() }).optional(),
  /**
   * The call was allowed and runs; `estimate` replaces its earlier one. Orders, breakers and budgets answer, rules do
   * not. Only a refusal is published.
   */
  grows: z.literal(true).optional(),
  receivedAt: Instant,
  /** Time left to answer, in ms. Afterwards the `onUnavailable` setting of each stateful rule decides. */
  deadlineMs: z.number().positive(),
});
export type DecisionRequest = z.infer<typeof DecisionRequest>;

/** Returns the SHA-256 (hex) of a part of a call, which does not depend on truncation. */
export function contentHash(request: Pick<DecisionRequest, 'args' | 'result' | 'unread'>, part: 'args' | 'result') {
  return request.unread?.[part]?.sha256 ?? sha256Hex(canonicalJson(request[part] ?? null));
}

/** From mild to severe; the most severe effect of all matched rules wins. */
export const DECISION_EFFECTS = ['allow', 'modify', 'ask', 'block', 'terminate'] as const;
export const DecisionEffect = z.enum(DECISION_EFFECTS);
export type DecisionEffect = z.infer<typeof DecisionEffect>;

/** The four causes of the agent protocol. A tripped breaker and a pause are lockdowns; a spent budget is a rule. */
export const DecisionCause = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ALLOW') }),
  z.object({ kind: z.literal('RULE_VIOLATION'), ruleId: z.string() }),
  z.object({ kind: z.literal('HITL_PENDING'), approvalId: z.string(), ruleId: z.string().optional() }),
  z.object({ kind: z.literal('LOCKDOWN'), lockdownId: z.string().optional() }),
]);
export type DecisionCause = z.infer<typeof DecisionCause>;

/** A name that looks the same wherever it is shown. */
export const LabelName = z
  .string()
  .min(1)
  .max(64)
  .regex(
    /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/,
    'must consist of lower-case letters, digits, ".", "_" and "-", like "customer-data"',
  );

/** The call that first set a label on its run tree. */
const LabelSource = z.object({
  runId: ClientId,
  agentId: ClientId,
  toolName: z.string(),
  callId: ClientId.optional(),
  at: Instant,
});

/** A label that stands on a run tree. */
export const StandingLabel = z.object({ label: z.string(), source: LabelSource });
export type StandingLabel = z.infer<typeof StandingLabel>;

/** How well a data flow is known, weakest first. */
export const FLOW_GRADES = ['possible', 'carried', 'proven'] as const;
export type FlowGrade = (typeof FLOW_GRADES)[number];

/** Data that may leave with a call, and the call that read it. Never contains the data. */
export const FlowFinding = z.object({
  label: z.string(),
  grade: z.enum(FLOW_GRADES).meta({
    description:
      'possible: the source was called earlier in the run tree. carried: the arguments contain a part of its result. ' +
      'proven: they contain a whole value.',
  }),
  field: z.string().optional().meta({ description: "Path of the value in the source's result." }),
  source: LabelSource,
});
export type FlowFinding = z.infer<typeof FlowFinding>;

/** Result of one rule; `violated` is true if it matched and its effect is more than `allow`. */
export const RuleFinding = z.object({
  ruleId: z.string(),
  ruleVersion: z.int().min(1),
  enabled: z.boolean(),
  matched: z.boolean(),
  violated: z.boolean(),
  effect: DecisionEffect,
  mode: z.enum(['enforce', 'shadow']),
  /** The value that a matched rule measured and its limit, in the unit of its condition. For people only. */
  value: z.number().optional().meta({ description: 'The measured value, if the rule matched and measures a number.' }),
  limit: z.number().optional().meta({ description: 'The limit of the value, in the same unit.' }),
  flow: FlowFinding.optional().meta({ description: 'The data flow behind the match. For people only.' }),
});
export type RuleFinding = z.infer<typeof RuleFinding>;

/** A rule that could not be evaluated, so that its own setting decided. */
export const RuleBypass = z.object({
  ruleId: z.string(),
  /** `canary_unit`: the call lacks what the rollout selects by, so that the rule only recorded it. */
  why: z.enum(['missing', 'unavailable', 'deadline', 'error', 'canary_unit']),
  did: z.enum(['allow', 'block']),
});
export type RuleBypass = z.infer<typeof RuleBypass>;

/** What decided if the call was not simply allowed. `unjudged`: no rule could be evaluated in time. */
export const DECISION_REASONS = ['rule', 'approval', 'budget', 'breaker', 'order', 'tree_limit', 'unjudged'] as const;
export const DecisionReason = z.enum(DECISION_REASONS);
export type DecisionReason = z.infer<typeof DecisionReason>;

/**
 * The decision as published and stored. The agent's response (`decisionBody`) names rules, never their limits; `value`
 * and `limit` of findings are for people.
 */
export const Decision = z.object({
  id: z.string(),
  tenantId: TenantId,
  agentId: ClientId,
  runId: ClientId,
  phase: DecisionPhase,
  toolName: z.string().optional(),
  callId: ClientId.optional(),
  /** Verdict sent to the agent. Always ALLOW in shadow mode. */
  verdict: z.enum(['ALLOW', 'BLOCK']),
  control: z.enum(['CONTINUE', 'TERMINATE']),
  /** Effect applied to the call. */
  effect: DecisionEffect,
  /** Effect if shadow rules had been enforced too, if that is more severe. */
  wouldHave: DecisionEffect.optional(),
  cause: DecisionCause,
  message: z.string(),
  evaluatedRules: z.array(RuleFinding),
  finalRuleId: z.string().optional(),
  /** Absent if the call was simply allowed, and in decisions of earlier versions. */
  reason: DecisionReason.optional(),
  /** Present if the reason is `budget`. */
  budgetId: z.string().optional(),
  /** Present if the effect is `modify`: the arguments to use instead. Not stored. */
  modifiedArgs: z.unknown().optional(),
  approvalId: z.string().optional(),
  /** Reservation of the estimate, settled by the event of the same call or by `settleReservation`. */
  reservationId: z.string().optional(),
  bypasses: z.array(RuleBypass),
  /** Only in the published and stored decision; absent in those of earlier versions. */
  decider: DecidedBy.optional(),
  /**
   * The redacted arguments, if the tenant stores them and they are small. Only in the published and stored decision.
   */
  arguments: z.unknown().optional(),
  /** For larger arguments: the beginning of their redacted JSON text and its total length in bytes. */
  argumentsCut: z.object({ start: z.string(), bytes: z.int() }).optional(),
  /** Tags of the tool that came with the call. Only in the published and stored decision. */
  toolTags: z.array(z.string()).optional(),
  /** SHA-256 (hex) of the canonical arguments. */
  inputsDigest: z.string(),
  latencyMs: z.number().nonnegative(),
  decidedAt: Instant,
});
export type Decision = z.infer<typeof Decision>;
