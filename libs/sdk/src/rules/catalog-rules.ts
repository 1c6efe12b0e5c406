import type { DecisionRequest, GuardrailRule, RolloutUnit } from '@agentlens/contracts';
import { activate, type DecisionFacts, type DecisionRule, decide, type Ruling } from '@agentlens/guardrails';
import { applicableIndex, blockerOf } from '../guard/applicable.ts';
import type { BundledRule, CompiledRules, LocalCall, LocalJudgement, LocalRules } from '../guard/local-rules.ts';
import { instantOf } from '../sink/audit-event.ts';
import { carried } from '../wire/carried.ts';

/** A bundled rule, compiled if this SDK version knows its condition and its action. */
interface Ready extends BundledRule {
  readonly ready: DecisionRule | undefined;
}

const NOTHING: LocalJudgement = { refusal: null, ask: false, blocksWhenUnavailable: null, evaluated: [] };
/** Facts for rules that need none. */
const NO_FACTS: DecisionFacts = {
  needs: { history: false, agent: false, series: [], increments: [], undo: [] },
  argsHash: '',
};
const EPOCH = '1970-01-01T00:00:00.000Z';

/**
 * Decides locally what the platform's own rule code can decide from a call alone, with the same code as the server.
 * Everything else goes to the server: rules with history, windows or approvals, changed arguments, and rules newer than
 * this SDK. It increases the bundle size; the default `selectorRules` only skips calls that no rule applies to.
 */
export const catalogRules: LocalRules = {
  compile(rules: readonly BundledRule[]): CompiledRules {
    const ready = rules.map((rule) => ({ ...rule, ready: readied(rule) }));
    // A rule that counts calls has to see every call.
    const mustReport = ready.some((rule) => rule.ready?.counts ?? false);
    const applicable = applicableIndex<Ready>(ready);
    return {
      judge(call) {
        const found = applicable(call);
        if (found.length === 0) return mustReport ? { ...NOTHING, ask: true } : NOTHING;
        return judged(found, call, mustReport);
      },
    };
  },
};

function judged(rules: readonly Ready[], call: LocalCall, mustReport: boolean): LocalJudgement {
  const request = new LocalRequest(call);
  const contents = new Contents(call);
  const local: DecisionRule[] = [];
  const remote: Ready[] = [];
  for (const rule of rules) {
    if (rule.ready !== undefined && isLocal(rule.ready, call, request, contents)) local.push(rule.ready);
    else remote.push(rule);
  }
  if (local.length === 0) return { ...NOTHING, ask: true, blocksWhenUnavailable: blockerOf(remote) };
  const ruling = decide(local, request, NO_FACTS, call.now);
  const undecided = undecidedBy(local, ruling);
  if (undecided.size === 0) return judgementOf(ruling, mustReport || remote.length > 0, blockerOf(remote));
  const left = rules.filter((rule) => remote.includes(rule) || undecided.has(rule.id));
  const decidable = local.filter(({ id }) => !undecided.has(id));
  return judgementOf(decide(decidable, request, NO_FACTS, call.now), true, blockerOf(left));
}

/**
 * Rules that are undecided here but may be decided by the server, which knows the run's start data and allows more
 * expensive checks. Rules that would block anyway are left out.
 */
function undecidedBy(rules: readonly DecisionRule[], { bypasses }: Ruling): ReadonlySet<string> {
  const readingRun = new Set(rules.filter(({ reads }) => reads.some(isRunFact)).map(({ id }) => id));
  const undecided = bypasses.filter(({ ruleId, why, did }) => {
    if (why === 'missing') return readingRun.has(ruleId);
    return why === 'error' || did === 'allow';
  });
  return new Set(undecided.map(({ ruleId }) => ruleId));
}

function isRunFact(part: string): boolean {
  return part === 'actor' || part === 'tags';
}

/**
 * Whether the contents of a call are here exactly as the server would see them. Computed once, when a rule reads them.
 */
class Contents {
  readonly #call: LocalCall;
  #args: boolean | undefined;
  #result: boolean | undefined;

  constructor(call: LocalCall) {
    this.#call = call;
  }

  get args(): boolean {
    this.#args ??= carried(this.#call.args) === 'as_it_is';
    return this.#args;
  }

  get result(): boolean {
    this.#result ??= !this.#call.cutResult && carried(this.#call.result) === 'as_it_is';
    return this.#result;
  }
}

function judgementOf(ruling: Ruling, mustAsk: boolean, blocksWhenUnavailable: string | null): LocalJudgement {
  const { effect, finalRule, message } = ruling;
  const evaluated = ruling.findings.map(({ ruleId, enabled, matched, violated }) => ({
    ruleId,
    enabled,
    matched,
    violated,
  }));
  if (finalRule === undefined || (effect !== 'block' && effect !== 'terminate')) {
    // Approvals and changed arguments belong to the server, which records both.
    return { refusal: null, ask: mustAsk || effect !== 'allow', blocksWhenUnavailable, evaluated };
  }
  const refusal = {
    control: effect === 'terminate' ? ('TERMINATE' as const) : ('CONTINUE' as const),
    cause: { kind: 'RULE_VIOLATION' as const, ruleId: finalRule.id },
    message,
    evaluatedRules: evaluated,
    finalRuleId: finalRule.id,
  };
  return { refusal, ask: false, blocksWhenUnavailable, evaluated };
}

function isLocal(rule: DecisionRule, call: LocalCall, request: DecisionRequest, contents: Contents): boolean {
  if (rule.rollout !== undefined && !knowsUnit(rule.rollout.by, call)) return false;
  if (rule.counts || rule.feeds.length > 0) return false;
  if ((rule.reads.includes('args') && !contents.args) || (rule.reads.includes('result') && !contents.result))
    return false;
  const { history = false, series = [], additions = [], labels } = rule.needs(request);
  return !history && series.length === 0 && additions.length === 0 && labels === undefined;
}

/** Whether the unit of a rollout is known here as the server knows it. Rollouts by agent are resolved by the server. */
function knowsUnit(by: RolloutUnit, { ancestors, sessionId, actor }: LocalCall): boolean {
  if (by === 'tree') return ancestors !== undefined;
  if (by === 'session') return sessionId !== undefined;
  return by === 'actor' ? actor !== undefined : by === 'run';
}

/** Undefined: unknown here, or not a call rule; the server is then asked whenever it applies. */
function readied(bundled: BundledRule): DecisionRule | undefined {
  const { phases, selector: _selector, askServer, rollout, ...rule } = bundled;
  if (askServer && rollout === undefined) return undefined;
  const stored: GuardrailRule = {
    ...rule,
    ...(rollout === undefined ? {} : { mode: 'canary' as const, rollout }),
    // The index selects tools, and the server selected agents.
    selector: { phases: [...phases] },
    ...{ tenantId: 'local', enabled: true, cooldownMinutes: 0, dryRun: false, direction: 'both' },
    ...{ createdAt: EPOCH, updatedAt: EPOCH },
  };
  try {
    const active = activate(stored);
    return active.ok && active.value.cadence === 'call' ? active.value : undefined;
  } catch {
    return undefined;
  }
}

/** The call as the server would see it. Its time is formatted only for rules that read it. */
class LocalRequest implements DecisionRequest {
  readonly tenantId = 'local';
  readonly agentId = 'local';
  readonly deadlineMs = 1_000;
  readonly runId: string;
  readonly sessionId: string | undefined;
  readonly ancestors: string[] | undefined;
  readonly phase: DecisionRequest['phase'];
  readonly callId: string;
  readonly args: unknown;
  readonly result: unknown;
  readonly actor: DecisionRequest['actor'];
  readonly tool: DecisionRequest['tool'];
  readonly tags: Record<string, string>;
  readonly subjects: DecisionRequest['subjects'];
  readonly metrics: Record<string, number>;
  readonly #now: number;

  constructor(call: LocalCall) {
    this.runId = call.runId;
    this.sessionId = call.sessionId;
    this.ancestors = call.ancestors && [...call.ancestors];
    this.phase = call.phase;
    this.callId = call.callId;
    this.args = call.args;
    this.result = call.result;
    this.actor = call.actor;
    this.tool = call.toolName === '' ? undefined : { name: call.toolName, tags: [...call.toolTags] };
    this.tags = call.runTags;
    this.subjects = call.subjects as DecisionRequest['subjects'];
    this.metrics = call.metrics;
    this.#now = call.now;
  }

  get receivedAt(): string {
    return instantOf(this.#now);
  }
}
