import type { LocalCall, LocalJudgement } from '../guard/local-rules.ts';
import type { OrderedState } from '../guard/operator-orders.ts';
import type { RuleCache } from '../guard/rule-cache.ts';
import type { Settings } from '../options.ts';
import type { RuntimeClock } from '../runtime/runtime.ts';
import { carried } from '../wire/carried.ts';
import type { DecisionPhase, RuleBypass } from '../wire/contract.ts';
import type { Bypass, Decision, WireDecision } from '../wire/decision.ts';
import { BYPASSES } from '../wire/failures.ts';
import type { Actor, Subject } from '../wire/model.ts';
import type { Asked, EvaluateRequest, NotAnswered, Server } from '../wire/server.ts';

/** A decision request. */
export interface DecisionQuestion {
  readonly phase: DecisionPhase;
  readonly callId: string;
  readonly toolName: string;
  readonly toolTags: readonly string[];
  readonly args: unknown;
  readonly result?: unknown;
  readonly subjects?: readonly Subject[];
  readonly metrics?: Readonly<Record<string, number>>;
  readonly estimate?: { readonly tokens: number; readonly costUsd: number };
  /** The arguments' JSON is too large to send. */
  readonly oversized: boolean;
  /** The result is truncated here. */
  readonly cutResult?: boolean;
}

/** What the decider needs from its run. */
export interface DecidedRun {
  readonly runId: string;
  readonly sessionId?: string | undefined;
  readonly actor: Actor | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly enforceMode: Settings['enforceMode'];
  /** The runs above this one, nearest first; undefined while they are unknown. */
  ancestors?(): readonly string[] | undefined;
  /** Stopped by an operator, by its TTL, or by the server at its start. */
  controlState(): OrderedState;
  /** The platform rejects the key, which ends the run. */
  keyRefused(): void;
  /** A local reason to refuse; opens the breaker if a limit is exceeded. */
  breakerRefuses(question: DecisionQuestion): string | null;
}

export interface DeciderDependencies {
  readonly settings: Settings;
  readonly server: Pick<Server, 'evaluate'>;
  readonly clock: RuntimeClock;
  readonly rules: RuleCache | null;
  /** Undefined while the agent is not registered. */
  agentId(): Promise<string | undefined>;
  /** Why it could not be registered. */
  unregistered(): NotAnswered;
}

type Verdict = WireDecision & { readonly source: Decision['source']; readonly bypass?: Bypass };

const ALLOWED: WireDecision = {
  verdict: 'ALLOW',
  control: 'CONTINUE',
  cause: { kind: 'ALLOW' },
  message: '',
  evaluatedRules: [],
};

/** A server with an older protocol does not decide model calls, in any fail mode. */
const PASSED_UNKNOWN: Verdict = { ...ALLOWED, source: 'fallback', bypass: 'unknown_phase' };

/** A server may be upgraded while the agent runs. */
const UNKNOWN_MS = 300_000;

/**
 * Decides about one call, cheapest check first: the operator's order, the breaker, the local stateless rules and, if
 * state is needed, the server. If no decision can be made, the rules' `onUnavailable` and `failMode` apply, and the
 * decision records it.
 */
export class Decider {
  readonly #tools: DeciderDependencies;
  /** A server with an older protocol does not know this question; it is not asked again until then. */
  #modelCallsUnknownUntil = Number.NEGATIVE_INFINITY;

  constructor(tools: DeciderDependencies) {
    this.#tools = tools;
  }

  async decide(run: DecidedRun, question: DecisionQuestion): Promise<Decision> {
    if (run.enforceMode === 'off') return this.#answer(question, { ...ALLOWED, source: 'local' });
    const verdict = this.#atOnce(run, question) ?? (await this.#withRules(run, question));
    return run.enforceMode === 'shadow' ? this.#shadowed(question, verdict) : this.#answer(question, verdict);
  }

  #atOnce(run: DecidedRun, question: DecisionQuestion): Verdict | null {
    const controlState = run.controlState();
    if (controlState.state !== 'running') return stopped(controlState);
    const wrong = wrongEstimate(question.estimate);
    if (wrong !== null) return blocked(wrong);
    const reason = run.breakerRefuses(question);
    if (reason !== null) return lockdown(`The circuit breaker of this run is open (${reason}).`);
    if (question.oversized && this.#tools.settings.onOversized === 'block' && question.phase === 'tool.before')
      return blocked('The arguments of this call are too large to be checked.');
    return null;
  }

  async #withRules(run: DecidedRun, question: DecisionQuestion): Promise<Verdict> {
    const judgement = this.#judge(run, question);
    if (judgement !== null) {
      if (judgement.refusal !== null) return { ...judgement.refusal, verdict: 'BLOCK', source: 'local' };
      if (!judgement.ask) return { ...ALLOWED, evaluatedRules: judgement.evaluated, source: 'local' };
    }
    const { clock } = this.#tools;
    if (question.phase === 'llm.before' && clock.elapsed() < this.#modelCallsUnknownUntil) return PASSED_UNKNOWN;
    const asked = await this.#ask(run, question);
    if (!asked.ok && asked.why === 'key_refused') run.keyRefused();
    // An order may have arrived in the meantime; it overrides an earlier ALLOW.
    const controlState = run.controlState();
    if (controlState.state !== 'running')
      return asked.ok ? stopped(controlState) : { ...stopped(controlState), source: 'fallback', bypass: asked.why };
    if (asked.ok) return this.#verdictOf(asked.value);
    if (question.phase === 'llm.before' && asked.isUnknown === true) {
      this.#modelCallsUnknownUntil = clock.elapsed() + UNKNOWN_MS;
      return PASSED_UNKNOWN;
    }
    return this.#fallback(asked.why, judgement);
  }

  #judge(run: DecidedRun, question: DecisionQuestion): LocalJudgement | null {
    const { rules, clock } = this.#tools;
    if (rules === null) return null;
    const call: LocalCall = {
      phase: question.phase,
      toolName: question.toolName,
      toolTags: question.toolTags,
      callId: question.callId,
      runId: run.runId,
      ancestors: run.ancestors?.(),
      sessionId: run.sessionId,
      args: question.args,
      result: question.result,
      cutResult: question.cutResult ?? false,
      actor: run.actor,
      subjects: question.subjects ?? [],
      metrics: question.metrics ?? {},
      runTags: run.tags,
      now: clock.now(),
    };
    return rules.judge(call);
  }

  async #ask(run: DecidedRun, question: DecisionQuestion): Promise<Asked<WireDecision>> {
    const agentId = await this.#tools.agentId();
    if (agentId === undefined) return this.#tools.unregistered();
    const { toolName, toolTags, oversized } = question;
    const request: Omit<EvaluateRequest, 'deadlineMs'> = {
      phase: question.phase,
      agentId,
      callId: question.callId,
      tool: toolName === '' ? undefined : { name: toolName, tags: toolTags },
      args: oversized ? {} : question.args,
      result: question.result,
      actor: run.actor,
      tags: run.tags,
      subjects: question.subjects,
      metrics: question.metrics,
      estimate: question.estimate,
      ...unreadOf(question),
    };
    return this.#tools.server.evaluate(run.runId, request);
  }

  /**
   * The server allows what it could not evaluate in time, as configured by its rules and tenant; failing closed does
   * not.
   */
  #verdictOf(decision: WireDecision): Verdict {
    const passed = decision.verdict === 'ALLOW' ? decision.bypasses?.find(isUndecided) : undefined;
    if (passed === undefined || this.#tools.settings.failMode === 'open') return { ...decision, source: 'remote' };
    return { ...failedClosed(passed.why === 'deadline' ? 'deadline' : 'unavailable'), bypasses: decision.bypasses };
  }

  #fallback(why: Bypass, judgement: LocalJudgement | null): Verdict {
    const ruleId = judgement?.blocksWhenUnavailable ?? null;
    if (this.#tools.settings.failMode === 'closed') return failedClosed(why);
    if (ruleId === null)
      return {
        ...ALLOWED,
        message: undecided(why, 'open'),
        source: 'fallback',
        bypass: why,
      };
    const refusal = blocked('A rule that applies to this call could not be evaluated.');
    return {
      ...refusal,
      cause: { kind: 'RULE_VIOLATION', ruleId },
      finalRuleId: ruleId,
      source: 'fallback',
      bypass: why,
    };
  }

  #answer(question: DecisionQuestion, verdict: Verdict): Decision {
    const modified = verdict.verdict === 'ALLOW' && 'modifiedArgs' in verdict && verdict.modifiedArgs !== undefined;
    const { phase, callId } = question;
    return { ...verdict, phase, callId, args: modified ? verdict.modifiedArgs : question.args };
  }

  /** Refuses and changes nothing; reports what would have happened. */
  #shadowed(question: DecisionQuestion, verdict: Verdict): Decision {
    const { phase, callId, args } = question;
    const { source, bypass, evaluatedRules, reservationId } = verdict;
    const { control, cause, message, finalRuleId } = verdict;
    const shadowed = { verdict: verdict.verdict, control, cause, message, ...(finalRuleId ? { finalRuleId } : {}) };
    return {
      ...ALLOWED,
      ...{ phase, callId, args, source, bypass, evaluatedRules },
      ...(reservationId === undefined ? {} : { reservationId }),
      shadowed,
    };
  }
}

/**
 * Excludes `missing` and errors of the rule itself, because the rule's author decided about those. Unknown reasons come
 * from a newer server.
 */
function isUndecided({ ruleId, why, did }: RuleBypass): boolean {
  return did !== 'block' && (ruleId === '*' || (why !== 'missing' && why !== 'error'));
}

/** Content that a rule may not find here although it exists. */
function unreadOf({ args, oversized, result, cutResult = false }: DecisionQuestion): Pick<EvaluateRequest, 'unread'> {
  const unread = [
    ...(oversized || carried(args) === 'in_part' ? (['args'] as const) : []),
    ...(cutResult || carried(result) === 'in_part' ? (['result'] as const) : []),
  ];
  return unread.length === 0 ? {} : { unread };
}

function failedClosed(why: Bypass): Verdict {
  return { ...lockdown(undecided(why, 'closed')), source: 'fallback', bypass: why };
}

function undecided(why: Bypass, failing: 'open' | 'closed'): string {
  return `No decision could be made: ${BYPASSES[why].happened}. Failing ${failing}.`;
}

/** A budget cannot hold an invalid amount, and the server would reject the question. Null if valid. */
function wrongEstimate(estimate: DecisionQuestion['estimate']): string | null {
  if (estimate == null) return null;
  for (const member of ['tokens', 'costUsd'] as const) {
    const amount: unknown = estimate[member];
    if (typeof amount === 'number' && Number.isFinite(amount) && amount >= 0) continue;
    const shown = typeof amount === 'number' ? String(amount) : `of type ${typeof amount}`;
    return `The estimate of this call is wrong: estimate.${member} must be 0 or a positive number, not ${shown}.`;
  }
  return null;
}

export function stopped(controlState: Exclude<OrderedState, { state: 'running' }>): Verdict {
  const what = controlState.state === 'killed' ? 'stopped' : 'paused';
  const why = controlState.reason === '' ? '' : `: ${controlState.reason}`;
  return { ...lockdown(`This run was ${what}${why}`), cause: { kind: 'LOCKDOWN', lockdownId: controlState.id } };
}

function lockdown(message: string): Verdict {
  const cause = { kind: 'LOCKDOWN' } as const;
  return { verdict: 'BLOCK', control: 'TERMINATE', cause, message, evaluatedRules: [], source: 'local' };
}

function blocked(message: string): Verdict {
  const cause = { kind: 'RULE_VIOLATION', ruleId: 'agentlens.sdk' } as const;
  return { verdict: 'BLOCK', control: 'CONTINUE', cause, message, evaluatedRules: [], source: 'local' };
}
