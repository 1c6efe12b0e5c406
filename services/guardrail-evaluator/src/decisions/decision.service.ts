import { type Budget, type Decision, type DecisionRequest, type RuleBypass, timeOrderedId } from '@agentlens/contracts';
import {
  byPriority,
  type CallIdentity,
  type DecisionBook,
  type DecisionFacts,
  decide,
  type FactNeeds,
  factsNeeded,
  identityOf,
  type Ruling,
  standingOf,
  type Unavailable,
} from '@agentlens/guardrails';
import { BackgroundWork, type EventBus } from '@agentlens/messaging';
import {
  type Clock,
  type ControlBoard,
  type DecisionMetrics,
  type DecisionOutcome,
  type DecisionPublisher,
  decisionOf,
  keptArguments,
  moreSevere,
  orderedOutcome,
  type Platform,
  ruledOutcome,
  withTreeLimit,
} from '@agentlens/platform';
import type { BreakerService, BreakerVerdict } from '../breakers/breaker.service.ts';
import type { AppliedBudget } from '../budgets/accounts.ts';
import type { BudgetService } from '../budgets/budget.service.ts';
import { resolveApproval, spendApproval } from './approvals.ts';
import { Deadline } from './deadline.ts';
import type { EndedCalls } from './ended-calls.ts';
import type { FactGatherer, FetchedHistory } from './fact-gatherer.ts';
import {
  approvalOutcome,
  type BudgetRefusal,
  breakerOutcome,
  budgetOutcome,
  unaskedOutcome,
  unlabelledOutcome,
} from './outcome.ts';
import type { StateCircuit } from './state-circuit.ts';
import type { TenantSteps } from './tenant-steps.ts';

/** Maximum number of rules that can each require an approval of one call. */
const MAX_APPROVALS = 5;

interface DecisionServiceDependencies {
  readonly control: Pick<ControlBoard, 'stateOf'>;
  readonly rules: { readonly decisions: DecisionBook };
  readonly breakers: Pick<BreakerService, 'consult' | 'remembers'>;
  readonly budgets: Pick<BudgetService, 'applying' | 'needsSession' | 'sessionOf' | 'spent' | 'reserve'>;
  readonly facts: FactGatherer;
  readonly ended: Pick<EndedCalls, 'report' | 'caughtUp'>;
  readonly circuit: Pick<StateCircuit, 'ask'>;
  readonly bus: Pick<EventBus, 'request'>;
  readonly publisher: Pick<DecisionPublisher, 'offer'>;
  readonly metrics: Pick<DecisionMetrics, 'decided' | 'refusedByBudget'>;
  readonly steps: Pick<TenantSteps, 'ofCall'>;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

/** The state of one question while it is being decided. */
interface Question {
  readonly request: DecisionRequest;
  readonly nowMs: number;
  readonly identity: CallIdentity;
  readonly deadline: Deadline;
  readonly applied: readonly AppliedBudget[];
  readonly matching: Parameters<typeof decide>[0];
  readonly needs: FactNeeds;
  readonly bypasses: RuleBypass[];
  /** The approvals that allow this call, by rule. An approval is used once, for all callers of the call. */
  readonly approved: Map<string, string>;
  /** Fetches the history of the run, once for all callers of the call. */
  readonly fetchHistory: () => Promise<FetchedHistory>;
}

type MaybeAwaited<T> = T | Promise<T>;

interface Answer {
  readonly outcome: DecisionOutcome;
  readonly ruling?: Ruling;
  readonly reservationId?: string;
  readonly refusal?: BudgetRefusal;
}

/**
 * Decides whether a call may happen. Checks orders first, then breakers, budgets and rules, and fetches everything they
 * need at once. Always answers within the question's deadline: if data is not available in time, each rule allows or
 * blocks as configured, and the decision reports a bypass.
 */
export class DecisionService {
  readonly #parts: DecisionServiceDependencies;
  readonly #after = new BackgroundWork();

  constructor(parts: DecisionServiceDependencies) {
    this.#parts = parts;
  }

  async decide(request: DecisionRequest): Promise<Decision> {
    const startedAtMs = performance.now();
    const { control, rules, clock, metrics, publisher } = this.#parts;
    const nowMs = clock.now();
    const identity = identityOf(request, timeOrderedId(nowMs));
    const spent = this.#spendApproval(request, identity);
    const callers = callersOf(request);
    const ordered = callers
      .map(({ tenantId, agentId, runId, ancestors }) => control.stateOf(tenantId, agentId, runId, ancestors))
      .reduce(moreSevere);
    const controlState = withTreeLimit(ordered, request);
    const bypasses: RuleBypass[] = [];
    let result: Answer;
    if (controlState.kind !== 'none') result = { outcome: orderedOutcome(controlState) };
    else {
      const deadline = new Deadline(request.deadlineMs);
      const applied = await this.#applied(callers, deadline);
      const fetchHistory = memoized(() => this.#parts.facts.history(request, identity, deadline));
      const approved = new Map<string, string>();
      const questions = callers.map((caller, at) => {
        const matching = rules.decisions.matching(caller);
        const needs = factsNeeded(matching, caller, rules.decisions.counting(caller));
        // All budgets are charged once, with the last caller, when everything else allows the call.
        const budgets = at === callers.length - 1 ? applied : [];
        return {
          request: caller,
          nowMs,
          identity,
          deadline,
          applied: budgets,
          matching,
          needs,
          bypasses,
          approved,
          fetchHistory,
        };
      });
      const asked: Question[] = [];
      result = await this.#askAll(questions, asked);
      const last = questions.at(-1);
      if (last !== undefined) result = await this.#labelled(last, result);
      deadline.end();
      for (const question of asked) this.#settle(question, result.outcome);
    }
    await spent;
    const decision = decisionOf(request, identity, nowMs, result, bypasses, performance.now() - startedAtMs);
    metrics.decided(decision);
    if (result.refusal !== undefined) metrics.refusedByBudget(result.refusal);
    const decider = { by: 'evaluator', ...request.because } as const;
    publisher.offer({ ...decision, decider, ...keptArguments(request) });
    return decision;
  }

  /** Waits for notes that are written after answers. */
  async drain(): Promise<void> {
    await this.#after.ended();
  }

  /**
   * The call must be allowed for every caller; the first block decides. Adds the questions that were asked to `asked`.
   */
  async #askAll(questions: readonly Question[], asked: Question[]): Promise<Answer> {
    let result: Answer | undefined;
    for (const question of questions) {
      asked.push(question);
      const changed = result?.outcome.modifiedArgs;
      const args = changed === undefined ? {} : { args: changed, writtenArgs: undefined };
      const next = await this.#ask({ ...question, request: { ...question.request, ...args } });
      result = result === undefined ? next : combined(result, next);
      if (result.outcome.verdict === 'BLOCK') break;
    }
    if (result === undefined) throw new Error('a question has no caller');
    return result;
  }

  async #ask(question: Question): Promise<Answer> {
    const { request, needs, identity, deadline, bypasses, fetchHistory } = question;
    const [breaker, spent, facts] = await Promise.all([
      this.#breaker(question),
      this.#spent(question),
      this.#parts.facts.gather(request, needs, identity, deadline, fetchHistory),
    ]);
    if (typeof breaker === 'string') bypasses.push({ ruleId: 'circuit_breaker', why: breaker, did: 'allow' });
    else if (!breaker.allowed) return { outcome: breakerOutcome(breaker) };
    const result = await this.#ruled(question, facts, spent === null);
    if (spent !== null && result.outcome.control !== 'TERMINATE') return refusedByBudget(result, spent);
    if (result.outcome.verdict === 'BLOCK') return result;
    const reserved = await this.#reserved(question);
    return 'why' in reserved ? refusedByBudget(result, reserved) : { ...result, ...reserved };
  }

  /**
   * Labels the run tree for an allowed call, or one whose approval failed. Awaited, because the data may be anywhere in
   * the tree once the answer is out. A label that cannot be set is up to the `onUnavailable` setting of each rule that
   * needs it.
   */
  async #labelled({ request, needs, identity, deadline, bypasses }: Question, result: Answer): Promise<Answer> {
    const wanted = labelsFor(result.outcome, needs.labels);
    if (wanted === undefined || wanted.sets.length + wanted.clears.length === 0) return result;
    const unset = await this.#parts.facts.label(request, wanted, identity, deadline);
    const why = typeof unset === 'string' ? unset : 'unavailable';
    const failed = wanted.sets.filter(({ label }) => typeof unset === 'string' || unset.includes(label));
    const rules = [...new Set(failed.map(({ rule }) => rule))].sort(byPriority);
    bypasses.push(...rules.map(({ id, onUnavailable: did }) => ({ ruleId: id, why, did })));
    const blocking = rules.find(
      (rule) => rule.onUnavailable === 'block' && standingOf(rule, request).mode === 'enforce',
    );
    if (blocking === undefined || result.outcome.verdict === 'BLOCK') return result;
    return { ...result, outcome: unlabelledOutcome(blocking) };
  }

  /** Applies the rules and, if they require an approval, the reviewer's decision. */
  async #ruled(question: Question, facts: DecisionFacts, mayAsk: boolean): Promise<Answer> {
    const { request, nowMs, matching, bypasses, approved } = question;
    const steps = this.#parts.steps.ofCall(request.tenantId);
    for (let round = 0; ; round++) {
      const ruling = decide(matching, request, { ...facts, approved: new Set(approved.keys()) }, nowMs, steps);
      const settled = await this.#settledBy(question, ruling, mayAsk && round < MAX_APPROVALS);
      if (typeof settled !== 'string') {
        bypasses.push(...ruling.bypasses);
        return { outcome: approvedBy([...approved.values()], settled), ruling };
      }
      approved.set(ruling.ask?.ruleId ?? '', settled);
    }
  }

  /**
   * Returns a string if the call may continue: the id of its approval, or an empty string if no approval could be
   * requested and the rule allows that.
   */
  async #settledBy(question: Question, ruling: Ruling, mayAsk: boolean): Promise<DecisionOutcome | string> {
    const { ask, finalRule } = ruling;
    if (ask === undefined || finalRule === undefined) return ruledOutcome(ruling);
    if (!mayAsk) return unaskedOutcome(ruling);
    const asked = await this.#approval(question, ask);
    if (typeof asked !== 'string') {
      const { answer } = asked;
      return answer === 'refused' ? unaskedOutcome(ruling) : (approvalOutcome(ruling, answer) ?? answer.id);
    }
    const did = finalRule.onUnavailable;
    question.bypasses.push({ ruleId: finalRule.id, why: asked, did });
    return did === 'block' ? unaskedOutcome(ruling) : '';
  }

  /** The budgets that apply to the call, over all its callers. A call that has ended costs nothing more. */
  async #applied(callers: readonly DecisionRequest[], deadline: Deadline): Promise<readonly AppliedBudget[]> {
    const applied = await Promise.all(callers.map((caller) => this.#appliedTo(caller, deadline)));
    return [...new Map(applied.flat().map((one) => [potOf(one), one])).values()];
  }

  async #appliedTo(request: DecisionRequest, deadline: Deadline): Promise<readonly AppliedBudget[]> {
    const { budgets } = this.#parts;
    if (request.phase === 'tool.after') return [];
    if (!budgets.needsSession(request)) return budgets.applying(request);
    const failed = (error: unknown) => this.#failed(request, error, 'fetching the session of a run failed');
    const known = await this.#parts.circuit.ask(deadline, () => budgets.sessionOf(request), failed);
    return budgets.applying(typeof known === 'string' ? request : { ...request, ...known });
  }

  #breaker({ request, nowMs, identity, deadline }: Question): MaybeAwaited<BreakerVerdict | Unavailable> {
    const { breakers, circuit } = this.#parts;
    const { decisionId, once } = identity;
    if (breakers.remembers(request)) return { allowed: true };
    return circuit.ask(
      deadline,
      () => breakers.consult(request, decisionId, nowMs, once),
      (error) => this.#failed(request, error, 'checking breakers failed'),
    );
  }

  /** The refusal of a spent budget; null if money is left or the call has an estimate, which is reserved later. */
  async #spent({ request, nowMs, deadline, applied, bypasses }: Question): Promise<BudgetRefusal | null> {
    if (applied.length === 0 || request.estimate !== undefined) return null;
    const failed = (error: unknown) => this.#failed(request, error, 'checking budgets failed');
    const { budgets, circuit } = this.#parts;
    const budget = await circuit.ask(deadline, () => budgets.spent(request, applied, nowMs), failed);
    if (typeof budget === 'string') return unavailableBudgets(applied, budget, bypasses);
    return budget === null ? null : { budget, why: 'spent' };
  }

  async #reserved(question: Question): Promise<BudgetRefusal | { readonly reservationId?: string }> {
    const { request, nowMs, identity, deadline, applied, bypasses } = question;
    if (applied.length === 0 || request.estimate === undefined) return {};
    const { costUsd } = request.estimate;
    const { budgets, circuit } = this.#parts;
    const failed = (error: unknown) => this.#failed(request, error, 'reserving budget failed');
    const asked = () => budgets.reserve(request, costUsd, applied, identity, nowMs);
    const answer = await circuit.ask(deadline, asked, failed);
    if (typeof answer === 'string') return unavailableBudgets(applied, answer, bypasses) ?? {};
    if ('reservationId' in answer) return answer;
    return { budget: answer.refusedBy ?? (applied[0] as AppliedBudget).budget, why: 'estimate' };
  }

  #approval({ request, identity, deadline }: Question, ask: NonNullable<Ruling['ask']>) {
    const failed = (error: unknown) => this.#failed(request, error, 'requesting an approval failed');
    const { bus, ended } = this.#parts;
    const resolved = async () => {
      await ended.caughtUp(request.tenantId, Math.max(1, Math.floor(deadline.leftMs)));
      return { answer: await resolveApproval(bus, request, ask, identity, deadline) };
    };
    return deadline.within(resolved(), failed);
  }

  /** Runs before the answer is sent, so that the agent's next question sees it. */
  async #spendApproval(request: DecisionRequest, identity: CallIdentity): Promise<void> {
    const { ended, rules } = this.#parts;
    if (request.phase !== 'tool.after' || !rules.decisions.asksPeople(request.tenantId)) return;
    await spendApproval(ended, request, identity);
  }

  /**
   * Notes the outcome of the call. Sent before the answer, so that the agent's next question sees it, but not awaited.
   */
  #settle({ request, needs, identity }: Question, { verdict, cause, modifiedArgs }: DecisionOutcome): void {
    const { facts } = this.#parts;
    // A call that waits for a person is still open: the agent asks again under the same name.
    if (cause.kind === 'HITL_PENDING' && identity.once !== undefined) return;
    const noted =
      verdict === 'ALLOW'
        ? facts.allowed(request, needs, identity, modifiedArgs)
        : facts.refused(request, needs, identity);
    const settled = noted.catch((error: unknown) => this.#failed(request, error, 'noting a call failed'));
    this.#after.add(settled);
  }

  #failed({ tenantId, runId }: DecisionRequest, error: unknown, what: string): void {
    this.#parts.logger.warn({ err: error, tenantId, runId }, what);
  }
}

/** What a call with this outcome does to the labels of its run tree. */
function labelsFor(
  { verdict, reason, cause }: DecisionOutcome,
  labels: FactNeeds['labels'],
): Pick<NonNullable<FactNeeds['labels']>, 'sets' | 'clears' | 'prints'> | undefined {
  if (verdict === 'ALLOW') return labels;
  const isDenied = reason === 'approval' && cause.kind !== 'HITL_PENDING';
  return isDenied && labels !== undefined ? { sets: labels.setsIfDenied, clears: [], prints: [] } : undefined;
}

/** The callers to check: the one that started the run, if it differs, and the one that asks. */
function callersOf(request: DecisionRequest): readonly DecisionRequest[] {
  const { startedAs, ...asked } = request;
  return startedAs === undefined ? [asked] : [{ ...asked, ...startedAs }, asked];
}

function memoized<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function potOf({ account: { budgetId, scopeId, periodStart } }: AppliedBudget): string {
  return JSON.stringify([budgetId, scopeId, periodStart]);
}

/** Combines two rulings. Findings of rules that were not checked again and changed arguments are kept. */
function combined(before: Answer, next: Answer): Answer {
  const again = new Set(next.ruling?.findings.map(({ ruleId }) => ruleId));
  const findings = before.ruling?.findings.filter(({ ruleId }) => !again.has(ruleId)) ?? [];
  const { modifiedArgs, effect, approvalId } = before.outcome;
  const allowed = next.outcome.verdict === 'ALLOW';
  const keeps = allowed && modifiedArgs !== undefined && next.outcome.modifiedArgs === undefined;
  const outcome =
    allowed && approvalId !== undefined
      ? { ...next.outcome, approvalId: next.outcome.approvalId ?? approvalId }
      : next.outcome;
  return {
    ...next,
    outcome: keeps ? { ...outcome, modifiedArgs, effect } : outcome,
    ...(next.ruling === undefined
      ? {}
      : { ruling: { ...next.ruling, findings: [...next.ruling.findings, ...findings] } }),
  };
}

/** Names the last approval that allows the call. */
function approvedBy(approvals: readonly string[], outcome: DecisionOutcome): DecisionOutcome {
  const approvalId = approvals.findLast((id) => id !== '');
  return outcome.verdict === 'BLOCK' || approvalId === undefined ? outcome : { ...outcome, approvalId };
}

function refusedByBudget(result: Answer, refusal: BudgetRefusal): Answer {
  return { ...result, outcome: budgetOutcome(refusal), refusal };
}

/** Applies each budget's `onUnavailable` setting; the first budget that blocks decides. */
function unavailableBudgets(
  applied: readonly AppliedBudget[],
  why: Unavailable,
  bypasses: RuleBypass[],
): BudgetRefusal | null {
  let blocking: Budget | undefined;
  for (const { budget } of applied) {
    bypasses.push({ ruleId: budget.id, why, did: budget.onUnavailable });
    if (budget.onUnavailable === 'block') blocking ??= budget;
  }
  return blocking === undefined ? null : { budget: blocking, why: 'unavailable' };
}
