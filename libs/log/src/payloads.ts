import { canonicalJson } from '@agentlens/contracts';
import { digestMember } from './entry.ts';

/** Position of an entry among the entries of its run, from 1. A number that is missing shows an entry left out. */
export interface RunPlace {
  readonly id: string;
  readonly entry: number;
}

/** A stored decision. Its row is the payload, so nothing is stored twice. */
export interface DecisionRow {
  readonly agent_id: string;
  readonly phase: string;
  readonly tool_name: string | null;
  readonly call_id: string | null;
  readonly verdict: string;
  readonly control: string;
  readonly effect: string;
  readonly cause: unknown;
  readonly message: string;
  readonly evaluated_rules: unknown;
  readonly final_rule_id: string | null;
  readonly approval_id: string | null;
  readonly bypasses: unknown;
  readonly inputs_digest: string;
  readonly latency_ms: number;
  readonly decided_at: string;
  readonly reason: string | null;
  readonly budget_id: string | null;
  readonly would_have: string | null;
  readonly decider: unknown;
  readonly arguments: unknown;
  readonly arguments_cut: unknown;
}

/** Digests of members that can be erased alone, by name. */
export type WithheldDigests = Readonly<Record<string, string>>;

/** Canonical texts of the members of a decision that can be erased while the rest stays provable. */
export function readErasableMembers(row: Pick<DecisionRow, 'arguments' | 'arguments_cut'>): Record<string, string> {
  const members: Record<string, string> = {};
  if (row.arguments !== null) members.arguments = canonicalJson(row.arguments);
  if (row.arguments_cut !== null) members.argumentsCut = canonicalJson(row.arguments_cut);
  return members;
}

export function digestMembers(salt: Uint8Array, members: Readonly<Record<string, string>>): WithheldDigests {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, digestMember(salt, name, value)] as const),
  );
}

/** Payload of a decision. Members without a value are left out, so that later columns do not change old payloads. */
export function writeDecisionPayload(row: DecisionRow, run: RunPlace, withheld: WithheldDigests): string {
  const decision = {
    agentId: row.agent_id,
    phase: row.phase,
    toolName: row.tool_name,
    callId: row.call_id,
    verdict: row.verdict,
    control: row.control,
    effect: row.effect,
    cause: row.cause,
    message: row.message,
    rules: row.evaluated_rules,
    finalRuleId: row.final_rule_id,
    approvalId: row.approval_id,
    bypasses: row.bypasses,
    inputsDigest: row.inputs_digest,
    latencyMs: row.latency_ms,
    decidedAt: row.decided_at,
    reason: row.reason,
    budgetId: row.budget_id,
    wouldHave: row.would_have,
    decider: row.decider,
  };
  return canonicalJson({ decision: withoutNulls(decision), run, ...(hasMembers(withheld) && { withheld }) });
}

/** A row of the audit log. */
export interface ChangeRow {
  readonly kind: string;
  readonly target: string;
  readonly target_id: string;
  readonly key_id: string | null;
  readonly key_name: string | null;
  readonly person: string | null;
  /** Who signed in, by which way and in which session; null for a key of a program. */
  readonly person_id: string | null;
  readonly via: string | null;
  readonly session_id: string | null;
  readonly reason: string | null;
  readonly before: unknown;
  readonly after: unknown;
}

/** Texts of alerts quote calls and are erased with them, so entries never contain them. */
const ERASABLE_TEXTS = ['title', 'message', 'reason'];

/** Payload of a change of rules, budgets, limits, keys, settings, orders or alerts. */
export function writeChangePayload(row: ChangeRow): string {
  const isAlert = row.target === 'alert';
  const change = {
    kind: row.kind,
    targetId: row.target_id,
    keyId: row.key_id,
    keyName: row.key_name,
    person: row.person,
    personId: row.person_id,
    via: row.via,
    sessionId: row.session_id,
    reason: isAlert ? null : row.reason,
    before: isAlert ? withoutTexts(row.before) : row.before,
    after: isAlert ? withoutTexts(row.after) : row.after,
  };
  return canonicalJson({ change: withoutNulls(change) });
}

/** Payload of an entry whose content no other row has. */
export function writePayload(kind: string, content: unknown, run: RunPlace | undefined): string {
  return canonicalJson({ [kind]: content, run });
}

function withoutNulls(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}

function withoutTexts(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !ERASABLE_TEXTS.includes(name)));
}

function hasMembers(record: WithheldDigests): boolean {
  return Object.keys(record).length > 0;
}
