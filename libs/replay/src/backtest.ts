import { DAY_MS, type EventBatch, type GuardrailRule, type Trigger } from '@agentlens/contracts';
import { activate, type DecisionRule, type Ruling } from '@agentlens/guardrails';
import { Replay } from './replay.ts';
import type { PastDecision } from './stored-history.ts';

/** Windows and histories are rebuilt over this time before the range. */
export const WARM_UP_MS = DAY_MS;
/** Calls whose repeated questions are recognized. */
const MAX_RECENT_CALLS = 50_000;
/** Findings that are kept with their details; all are counted. */
export const MAX_FINDINGS = 10_000;
const MAX_GROUPS = 10_000;

/** Why a call could not be judged. */
export type UndecidedCause = 'arguments' | 'result' | 'metrics' | 'subjects' | 'tags' | 'unavailable' | 'error';

/** A trigger or a stopped call. */
export interface BacktestFinding {
  readonly kind: 'trigger' | 'block' | 'ask' | 'modify';
  readonly at: string;
  readonly agentId: string;
  readonly runId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly callId?: string | undefined;
  readonly decisionId?: string | undefined;
  readonly triggerId?: string | undefined;
  /** Message of the rule to the agent, or of the trigger to the operator. */
  readonly message: string;
}

/** Counts of one day, run, agent or tool. */
export interface BacktestCounts {
  asked: number;
  blocked: number;
  wouldAsk: number;
  triggers: number;
  undecided: number;
}

export interface BacktestTotals extends BacktestCounts {
  readonly modified: number;
  /** Calls on which the rule acts; `same`: the version in force does too. Null without one. */
  readonly compared: { readonly same: number; readonly onlyDraft: number; readonly onlyInForce: number } | null;
  readonly undecidedBecause: Readonly<Partial<Record<UndecidedCause, number>>>;
  /** Calls that an order or a breaker decided before any rule. */
  readonly notAsked: number;
  readonly byDay: ReadonlyMap<string, BacktestCounts>;
  readonly byTool: ReadonlyMap<string, BacktestCounts>;
  readonly byAgent: ReadonlyMap<string, BacktestCounts>;
  readonly byRun: ReadonlyMap<string, BacktestCounts>;
}

export interface BacktestQuestion {
  readonly tenantId: string;
  readonly rule: GuardrailRule;
  /** The version in force, to compare with. */
  readonly inForce?: GuardrailRule | undefined;
  /** RFC 3339. Findings before `from` only warm up. */
  readonly from: string;
  readonly assume: 'as_happened' | 'as_if_enforced';
}

/** Whether events feed what the rule reads when it decides a call. */
function isFed(rule: GuardrailRule): boolean {
  const active = activate(rule);
  return active.ok && active.value.cadence === 'call' && active.value.feeds.length > 0;
}

type Acts = BacktestFinding['kind'] | null;

/**
 * Evaluates a rule over stored history with the engine's own code. Feed it in the order of time; then read `totals` and
 * `findings`. The rule is evaluated as if it were enforced for all calls.
 */
export class RuleBacktest {
  readonly findings: BacktestFinding[] = [];
  readonly needs: { readonly events: boolean; readonly decisions: boolean };
  readonly #question: BacktestQuestion;
  readonly #replay: Replay;
  readonly #inForce: Replay | null;
  readonly #decides: DecisionRule | null;
  readonly #readsToolTags: boolean;
  readonly #recent = new Map<string, true>();
  readonly #counts = emptyCounts();
  readonly #undecided: Partial<Record<UndecidedCause, number>> = {};
  readonly #groups = { byDay: groups(), byTool: groups(), byAgent: groups(), byRun: groups() };
  readonly #compared = { same: 0, onlyDraft: 0, onlyInForce: 0 };
  #modified = 0;
  #notAsked = 0;

  /** @throws Error if the rule cannot be evaluated over history */
  constructor(question: BacktestQuestion) {
    this.#question = question;
    const startMs = Date.parse(question.from) - WARM_UP_MS;
    const rule = enforced(question.rule);
    const active = activate(rule);
    if (!active.ok) throw new Error(active.reason);
    if (active.value.cadence === 'tick') throw new Error(NO_TICKS);
    this.#decides = active.value.cadence === 'call' ? active.value : null;
    this.#readsToolTags = readsToolTags([rule.selector, rule.conditionType, rule.conditionConfig]);
    const { tenantId, inForce } = question;
    this.needs = {
      events: this.#decides === null || [rule, ...(inForce === undefined ? [] : [inForce])].some(isFed),
      decisions: this.#decides !== null,
    };
    this.#replay = new Replay(tenantId, [rule], startMs);
    this.#inForce = inForce === undefined ? null : new Replay(tenantId, [enforced(inForce)], startMs);
  }

  /** True if the result depends on the calls of every agent. */
  get countsEveryAgent(): boolean {
    return this.#decides?.countsEveryAgent ?? false;
  }

  get totals(): BacktestTotals {
    return {
      ...{ ...this.#counts, ...this.#groups, modified: this.#modified, notAsked: this.#notAsked },
      compared: this.#inForce === null ? null : this.#compared,
      undecidedBecause: this.#undecided,
    };
  }

  async events(batch: EventBatch): Promise<void> {
    const nowMs = Date.parse(batch.receivedAt);
    const [found, before] = [await happenedIn(this.#replay, batch, nowMs), this.#inForce];
    const others = before === null ? [] : await happenedIn(before, batch, nowMs);
    if (batch.receivedAt < this.#question.from) return;
    const same = found.filter((one) => others.some((other) => isSameCause(one, other))).length;
    this.#compared.same += same;
    this.#compared.onlyDraft += found.length - same;
    this.#compared.onlyInForce += others.length - same;
    for (const trigger of found) this.#note(findingOfTrigger(trigger));
  }

  async decision(past: PastDecision): Promise<void> {
    const rule = this.#decides;
    if (rule === null || this.#isRepeated(past)) return;
    const { request, decidedBefore } = past;
    if (decidedBefore !== undefined) {
      this.#notAsked += request.receivedAt < this.#question.from ? 0 : 1;
      return;
    }
    const ruling = await this.#ask(this.#replay, past);
    const other = this.#inForce === null ? null : await this.#ask(this.#inForce, past);
    if (request.receivedAt < this.#question.from) return;
    const lacksTags = this.#readsToolTags && !past.hasToolTags && rule.phases.includes(request.phase);
    // Without its tags, it is unknown whether the rule is about this call at all.
    if (!lacksTags && !ruling.findings.some(({ ruleId }) => ruleId === rule.id)) return;
    const cause = lacksTags ? 'tags' : undecidedBecause(rule, past, ruling);
    const acts = cause === null ? actOf(ruling) : null;
    this.#count(past, (counts) => {
      counts.asked += 1;
      if (cause !== null) counts.undecided += 1;
    });
    if (cause !== null) this.#undecided[cause] = (this.#undecided[cause] ?? 0) + 1;
    const otherActs = other === null || cause !== null ? null : actOf(other);
    if (acts !== null && otherActs !== null) this.#compared.same += 1;
    else if (acts !== null) this.#compared.onlyDraft += 1;
    else if (otherActs !== null) this.#compared.onlyInForce += 1;
    if (acts !== null) this.#note(findingOfCall(past, acts, ruling));
  }

  #ask(replay: Replay, past: PastDecision): Promise<Ruling> {
    const { request, argsHash, allowed, agentTags } = past;
    replay.moveTo(Date.parse(request.receivedAt));
    const happened = this.#question.assume === 'as_happened' || !allowed ? { allowed } : {};
    return replay.ask(request, { agent: { tags: agentTags }, argsHash, ...happened });
  }

  /** An agent asks about a call again while it waits for a person. */
  #isRepeated({ request: { runId, callId, phase }, argsHash }: PastDecision): boolean {
    if (callId === undefined) return false;
    const name = `${runId} ${callId} ${phase} ${argsHash}`;
    if (this.#recent.has(name)) return true;
    this.#recent.set(name, true);
    if (this.#recent.size > MAX_RECENT_CALLS) this.#recent.delete(this.#recent.keys().next().value ?? '');
    return false;
  }

  #note(finding: BacktestFinding): void {
    const { kind } = finding;
    if (kind === 'modify') this.#modified += 1;
    this.#count(finding, (counts) => {
      if (kind === 'trigger') counts.triggers += 1;
      else if (kind === 'block') counts.blocked += 1;
      else if (kind === 'ask') counts.wouldAsk += 1;
    });
    if (this.findings.length < MAX_FINDINGS) this.findings.push(finding);
  }

  #count(about: BacktestFinding | PastDecision, change: (counts: BacktestCounts) => void): void {
    const at = 'at' in about ? about.at : about.request.receivedAt;
    const { agentId, runId } = 'at' in about ? about : about.request;
    const tool = 'at' in about ? about.toolName : about.request.tool?.name;
    const { byDay, byTool, byAgent, byRun } = this.#groups;
    change(this.#counts);
    change(groupOf(byDay, at.slice(0, 10)));
    change(groupOf(byAgent, agentId));
    if (tool !== undefined) change(groupOf(byTool, tool));
    if (runId !== undefined && 'at' in about) change(groupOf(byRun, runId));
  }
}

export const NO_TICKS =
  'rules on health scores are measured by day and not on events, so there is no history to replay';

/** The rule as if it were enforced for every call. */
function enforced(rule: GuardrailRule): GuardrailRule {
  const { rollout: _rollout, suspended: _suspended, ...rest } = rule;
  return { ...rest, enabled: true, mode: 'enforce', dryRun: false };
}

async function happenedIn(replay: Replay, batch: EventBatch, nowMs: number): Promise<Trigger[]> {
  replay.moveTo(nowMs);
  return replay.happen(batch);
}

function isSameCause(one: Trigger, other: Trigger): boolean {
  return one.eventId === other.eventId && one.agentId === other.agentId;
}

function actOf({ effect }: Ruling): Acts {
  if (effect === 'block' || effect === 'terminate') return 'block';
  return effect === 'ask' || effect === 'modify' ? effect : null;
}

/** Null if the rule could be evaluated. A call is never decided by what the rule does about missing data. */
function undecidedBecause(rule: DecisionRule, { hasArguments }: PastDecision, ruling: Ruling): UndecidedCause | null {
  const bypass = ruling.bypasses.find(({ ruleId }) => ruleId === rule.id);
  for (const part of ['metrics', 'subjects'] as const) if (rule.reads.includes(part)) return part;
  if (bypass === undefined) return null;
  if (bypass.why === 'error') return 'error';
  if (bypass.why !== 'missing') return 'unavailable';
  if (rule.reads.includes('result')) return 'result';
  const needsArguments = rule.reads.includes('args') || rule.changesArguments;
  return needsArguments && !hasArguments ? 'arguments' : null;
}

function findingOfTrigger({ id, triggeredAt: at, agentId, runId, message }: Trigger): BacktestFinding {
  return { kind: 'trigger', at, agentId, runId, triggerId: id, message };
}

function findingOfCall({ id, request }: PastDecision, kind: BacktestFinding['kind'], ruling: Ruling): BacktestFinding {
  const { agentId, runId, tool, callId, receivedAt: at } = request;
  return { kind, at, agentId, runId, toolName: tool?.name, callId, decisionId: id, message: ruling.message };
}

type Groups = Map<string, BacktestCounts>;

function groups(): Groups {
  return new Map();
}

function emptyCounts(): BacktestCounts {
  return { asked: 0, blocked: 0, wouldAsk: 0, triggers: 0, undecided: 0 };
}

/** Beyond the bound, all further groups are one. */
function groupOf(all: Groups, name: string): BacktestCounts {
  const key = all.has(name) || all.size < MAX_GROUPS ? name : OTHERS;
  const known = all.get(key);
  if (known !== undefined) return known;
  const made = emptyCounts();
  all.set(key, made);
  return made;
}

const OTHERS = '(others)';

const TOOL_TAG_WORDS = /^(?:toolTagsAny|toolTagsAll|tool_tag)$|\btool\.tags\b/;

/** Whether a rule's selector or condition looks at the tags of tools, as a member, a condition or in an expression. */
function readsToolTags(part: unknown): boolean {
  if (typeof part === 'string') return TOOL_TAG_WORDS.test(part);
  if (typeof part !== 'object' || part === null) return false;
  return Object.entries(part).some(([name, value]) => TOOL_TAG_WORDS.test(name) || readsToolTags(value));
}
