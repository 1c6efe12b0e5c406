import type { DecisionRequest, GuardrailRule } from '@agentlens/contracts';
import { activate, type DecisionFacts, type DecisionRule, decide, type Ruling } from '@agentlens/guardrails';
import { applicableIndex, blockerOf } from '../guard/applicable.ts';
import type { BundledRule, CompiledRules, LocalCall, LocalJudgement, LocalRules } from '../guard/local-rules.ts';
import { instantOf } from '../sink/audit-event.ts';
import { carried } from '../wire/carried.ts';

/** A bundled rule, and itself made ready where this version of the SDK knows its condition and its action. */
interface Ready extends BundledRule {
  readonly ready: DecisionRule | undefined;
}

const NOTHING: LocalJudgement = { refusal: null, ask: false, blocksWhenUnavailable: null, evaluated: [] };
/** What rules that need nothing fetched are given. */
const NO_FACTS: DecisionFacts = {
  needs: { history: false, agent: false, series: [], increments: [], undo: [] },
  argsHash: '',
};
const EPOCH = '1970-01-01T00:00:00.000Z';

/**
 * Decides in this process what the platform's own rule code can decide from a call alone, with the very code the
 * server uses. Everything else is asked: rules with a history, a window or a human, changed arguments, and rules that
 * are newer than this SDK. Costs its size; `selectorRules`, the default, only spares calls no rule is about.
 */
export const catalogRules: LocalRules = {
  compile(rules: readonly BundledRule[]): CompiledRules {
    const ready = rules.map((rule) => ({ ...rule, ready: readied(rule) }));
    // A rule that counts calls has to hear of every call, whichever it is asked about.
    const mustHear = ready.some((rule) => rule.ready?.counts ?? false);
    const applicable = applicableIndex<Ready>(ready);
    return {
      judge(call) {
        const found = applicable(call);
        if (found.length === 0) return mustHear ? { ...NOTHING, ask: true } : NOTHING;
        return judged(found, call, mustHear);
      },
    };
  },
};

function judged(rules: readonly Ready[], call: LocalCall, mustHear: boolean): LocalJudgement {
  const request = new LocalRequest(call);
  const contents = new Contents(call);
  const local: DecisionRule[] = [];
  const remote: Ready[] = [];
  for (const rule of rules) {
    if (rule.ready !== undefined && isLocal(rule.ready, request, contents)) local.push(rule.ready);
    else remote.push(rule);
  }
  if (local.length === 0) return { ...NOTHING, ask: true, blocksWhenUnavailable: blockerOf(remote) };
  const ruling = decide(local, request, NO_FACTS, call.now);
  const untold = untoldBy(local, ruling);
  if (untold.size === 0) return judgementOf(ruling, mustHear || remote.length > 0, blockerOf(remote));
  const left = rules.filter((rule) => remote.includes(rule) || untold.has(rule.id));
  const told = local.filter(({ id }) => !untold.has(id));
  return judgementOf(decide(told, request, NO_FACTS, call.now), true, blockerOf(left));
}

/**
 * Rules that cannot tell here and may be able to at the server: it knows what the run's start said, and takes its time
 * for what costs more than it may here, unless such a rule blocks then anyway.
 */
function untoldBy(rules: readonly DecisionRule[], { bypasses }: Ruling): ReadonlySet<string> {
  const ofTheRun = new Set(rules.filter(({ reads }) => reads.some(isOfTheRun)).map(({ id }) => id));
  const untold = bypasses.filter(({ ruleId, why, did }) => {
    if (why === 'missing') return ofTheRun.has(ruleId);
    return why === 'error' || did === 'allow';
  });
  return new Set(untold.map(({ ruleId }) => ruleId));
}

function isOfTheRun(part: string): boolean {
  return part === 'actor' || part === 'tags';
}

/** Whether contents of a call are here exactly as the server would see them; found out once, where a rule looks there. */
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
    // To ask a human and to change arguments is the server's business: it keeps the record of both.
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

function isLocal(rule: DecisionRule, request: DecisionRequest, contents: Contents): boolean {
  if (rule.counts || rule.feeds.length > 0) return false;
  if ((rule.reads.includes('args') && !contents.args) || (rule.reads.includes('result') && !contents.result))
    return false;
  const { history = false, series = [], additions = [] } = rule.needs(request);
  return !history && series.length === 0 && additions.length === 0;
}

/** Undefined: unknown here, or not a rule about calls; then the server is asked wherever it applies. */
function readied(bundled: BundledRule): DecisionRule | undefined {
  const { phases, selector: _selector, askServer, ...rule } = bundled;
  if (askServer) return undefined;
  const stored: GuardrailRule = {
    ...rule,
    // Which tools it is about is settled by the index; agents were settled by the server.
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

/** The call as the server would see it. Its time is written out only for the rules that read it. */
class LocalRequest implements DecisionRequest {
  readonly tenantId = 'local';
  readonly agentId = 'local';
  readonly deadlineMs = 1_000;
  readonly runId: string;
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
