import { type Budget, type Decision, type DecisionRequest, type RuleBypass, timeOrderedId } from '@agentlens/contracts';
import {
  type CallIdentity,
  type DecisionBook,
  type DecisionFacts,
  decide,
  type FactNeeds,
  factsNeeded,
  identityOf,
  type Ruling,
  type Unavailable,
} from '@agentlens/guardrails';
import { BackgroundWork, type EventBus } from '@agentlens/messaging';
import { type Clock, type ControlBoard, moreSevere, type Platform } from '@agentlens/platform';
import type { BreakerService, BreakerVerdict } from '../breakers/breaker.service.ts';
import type { AppliedBudget } from '../budgets/accounts.ts';
import type { BudgetService } from '../budgets/budget.service.ts';
import { resolveApproval, spendApproval } from './approvals.ts';
import { Deadline } from './deadline.ts';
import type { DecisionMetrics } from './decision-metrics.ts';
import type { DecisionPublisher } from './decision-publisher.ts';
import type { EndedCalls } from './ended-calls.ts';
import type { FactGatherer, FetchedHistory } from './fact-gatherer.ts';
import { keptArguments } from './kept-arguments.ts';
import {
  approvalOutcome,
  type BudgetRefusal,
  breakerOutcome,
  budgetOutcome,
  type DecisionOutcome,
  orderedOutcome,
  ruledOutcome,
  unaskedOutcome,
} from './outcome.ts';
import type { StateCircuit } from './state-circuit.ts';
import type { TenantSteps } from './tenant-steps.ts';

/** Of a tool's name, as decisions are kept with it. */
const MOST_NAME_CHARS = 256;
/** Rules that can each ask for an approval of one call. */
const MOST_APPROVALS = 5;

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

/** One question on its way to its answer. */
interface Question {
  readonly request: DecisionRequest;
  readonly nowMs: number;
  readonly identity: CallIdentity;
  readonly deadline: Deadline;
  readonly applied: readonly AppliedBudget[];
  readonly matching: Parameters<typeof decide>[0];
  readonly needs: FactNeeds;
  readonly bypasses: RuleBypass[];
  /** The approvals that let this call pass, by rule; an approval is used once, whoever the call is made as. */
  readonly approved: Map<string, string>;
  /** Of the run, which is one whoever the call is made as. */
  readonly fetchHistory: () => Promise<FetchedHistory>;
}

type MaybeAwaited<T> = T | Promise<T>;

interface Said {
  readonly outcome: DecisionOutcome;
  readonly ruling?: Ruling;
  readonly reservationId?: string;
  readonly refusal?: BudgetRefusal;
}

/**
 * Answers "may this happen?": what was ordered first, then breakers, budgets and rules, everything they need fetched at
 * once. Always answers within the question's deadline: what could not be had in time is passed or blocked as each rule
 * says, and reported as a bypass.
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
    const sides = sidesOf(request);
    const controlState = sides
      .map(({ tenantId, agentId, runId, ancestors }) => control.stateOf(tenantId, agentId, runId, ancestors))
      .reduce(moreSevere);
    const bypasses: RuleBypass[] = [];
    let said: Said;
    if (controlState.kind !== 'none') said = { outcome: orderedOutcome(controlState) };
    else {
      const deadline = new Deadline(request.deadlineMs);
      const applied = await this.#applied(sides, deadline);
      const fetchHistory = memoized(() => this.#parts.facts.history(request, identity, deadline));
      const approved = new Map<string, string>();
      const questions = sides.map((side, at) => {
        const matching = rules.decisions.matching(side);
        const needs = factsNeeded(matching, side, rules.decisions.counting(side));
        // Money is asked for once, of everybody's budgets, when nothing else stands in the way.
        const budgets = at === sides.length - 1 ? applied : [];
        return {
          request: side,
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
      said = await this.#askAll(questions, asked);
      deadline.end();
      for (const question of asked) this.#settle(question, said.outcome);
    }
    await spent;
    const decision = decisionOf(request, identity, nowMs, said, bypasses, performance.now() - startedAtMs);
    metrics.decided(decision);
    if (said.refusal !== undefined) metrics.refusedByBudget(said.refusal);
    publisher.offer({ ...decision, ...keptArguments(request) });
    return decision;
  }

  /** Waits for what is noted after answers. */
  async drain(): Promise<void> {
    await this.#after.ended();
  }

  /** The call has to be allowed for everybody it is made as; the first no settles it. Adds to `asked` what was asked. */
  async #askAll(questions: readonly Question[], asked: Question[]): Promise<Said> {
    let said: Said | undefined;
    for (const question of questions) {
      asked.push(question);
      const changed = said?.outcome.modifiedArgs;
      const args = changed === undefined ? {} : { args: changed, writtenArgs: undefined };
      const next = await this.#ask({ ...question, request: { ...question.request, ...args } });
      said = said === undefined ? next : together(said, next);
      if (said.outcome.verdict === 'BLOCK') break;
    }
    if (said === undefined) throw new Error('a question is asked as nobody');
    return said;
  }

  async #ask(question: Question): Promise<Said> {
    const { request, needs, identity, deadline, bypasses, fetchHistory } = question;
    const [breaker, spent, facts] = await Promise.all([
      this.#breaker(question),
      this.#spent(question),
      this.#parts.facts.gather(request, needs, identity, deadline, fetchHistory),
    ]);
    if (typeof breaker === 'string') bypasses.push({ ruleId: 'circuit_breaker', why: breaker, did: 'allow' });
    else if (!breaker.allowed) return { outcome: breakerOutcome(breaker) };
    const said = await this.#ruled(question, facts, spent === null);
    if (spent !== null && said.outcome.control !== 'TERMINATE') return refusedByBudget(said, spent);
    if (said.outcome.verdict === 'BLOCK') return said;
    const reserved = await this.#reserved(question);
    return 'why' in reserved ? refusedByBudget(said, reserved) : { ...said, ...reserved };
  }

  /** What the rules say; where they ask a human, what that human said. */
  async #ruled(question: Question, facts: DecisionFacts, mayAsk: boolean): Promise<Said> {
    const { request, nowMs, matching, bypasses, approved } = question;
    const steps = this.#parts.steps.ofCall(request.tenantId);
    for (let round = 0; ; round++) {
      const ruling = decide(matching, request, { ...facts, approved: new Set(approved.keys()) }, nowMs, steps);
      const settled = await this.#settledBy(question, ruling, mayAsk && round < MOST_APPROVALS);
      if (typeof settled !== 'string') {
        bypasses.push(...ruling.bypasses);
        return { outcome: approvedBy([...approved.values()], settled), ruling };
      }
      approved.set(ruling.ask?.ruleId ?? '', settled);
    }
  }

  /** A text: a human approved, by this approval, or nobody could be asked and the rule lets that pass. */
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

  /** The budgets a call falls under, of everybody it is made as; what was called already costs nothing any more. */
  async #applied(sides: readonly DecisionRequest[], deadline: Deadline): Promise<readonly AppliedBudget[]> {
    const applied = await Promise.all(sides.map((side) => this.#appliedTo(side, deadline)));
    return [...new Map(applied.flat().map((one) => [potOf(one), one])).values()];
  }

  async #appliedTo(request: DecisionRequest, deadline: Deadline): Promise<readonly AppliedBudget[]> {
    const { budgets } = this.#parts;
    if (request.phase === 'tool.after') return [];
    if (!budgets.needsSession(request)) return budgets.applying(request);
    const failed = (error: unknown) => this.#failed(request, error, 'the session of a run could not be asked for');
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
      (error) => this.#failed(request, error, 'breakers could not be asked'),
    );
  }

  /** What a spent budget says; null: there is money, or the call brings an estimate that asks for it. */
  async #spent({ request, nowMs, deadline, applied, bypasses }: Question): Promise<BudgetRefusal | null> {
    if (applied.length === 0 || request.estimate !== undefined) return null;
    const failed = (error: unknown) => this.#failed(request, error, 'budgets could not be asked');
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
    const failed = (error: unknown) => this.#failed(request, error, 'no money could be reserved');
    const asked = () => budgets.reserve(request, costUsd, applied, identity, nowMs);
    const answer = await circuit.ask(deadline, asked, failed);
    if (typeof answer === 'string') return unavailableBudgets(applied, answer, bypasses) ?? {};
    if ('reservationId' in answer) return answer;
    return { budget: answer.refusedBy ?? (applied[0] as AppliedBudget).budget, why: 'estimate' };
  }

  #approval({ request, identity, deadline }: Question, ask: NonNullable<Ruling['ask']>) {
    const failed = (error: unknown) => this.#failed(request, error, 'an approval could not be asked for');
    const { bus, ended } = this.#parts;
    const resolved = async () => {
      await ended.caughtUp(request.tenantId, Math.max(1, Math.floor(deadline.leftMs)));
      return { answer: await resolveApproval(bus, request, ask, identity, deadline) };
    };
    return deadline.within(resolved(), failed);
  }

  /** Before the answer is sent, so that the agent's next question finds it. */
  async #spendApproval(request: DecisionRequest, identity: CallIdentity): Promise<void> {
    const { ended, rules } = this.#parts;
    if (request.phase !== 'tool.after' || !rules.decisions.asksPeople(request.tenantId)) return;
    await spendApproval(ended, request, identity);
  }

  /** Notes what became of the call. Sent before the answer is, so that the agent's next question finds it; not awaited. */
  #settle({ request, needs, identity }: Question, { verdict, cause, modifiedArgs }: DecisionOutcome): void {
    const { facts } = this.#parts;
    // A call that waits for a human is still asked for: it will come again under the same name.
    if (cause.kind === 'HITL_PENDING' && identity.once !== undefined) return;
    const noted =
      verdict === 'ALLOW'
        ? facts.allowed(request, needs, identity, modifiedArgs)
        : facts.refused(request, needs, identity);
    const settled = noted.catch((error: unknown) => this.#failed(request, error, 'a call could not be noted'));
    this.#after.add(settled);
  }

  #failed({ tenantId, runId }: DecisionRequest, error: unknown, what: string): void {
    this.#parts.logger.warn({ err: error, tenantId, runId }, what);
  }
}

/** The call as its run was started, where that is not as it is asked about, and as it is asked about. */
function sidesOf(request: DecisionRequest): readonly DecisionRequest[] {
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

/** What was allowed before stays said: findings of rules that were not asked again, and changed arguments. */
function together(before: Said, next: Said): Said {
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

/** Names the last approval that lets a call go ahead. */
function approvedBy(approvals: readonly string[], outcome: DecisionOutcome): DecisionOutcome {
  const approvalId = approvals.findLast((id) => id !== '');
  return outcome.verdict === 'BLOCK' || approvalId === undefined ? outcome : { ...outcome, approvalId };
}

function refusedByBudget(said: Said, refusal: BudgetRefusal): Said {
  return { ...said, outcome: budgetOutcome(refusal), refusal };
}

/** Each budget as it says itself; the first that blocks decides. */
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

function decisionOf(
  { tenantId, agentId, runId, phase, tool, callId }: DecisionRequest,
  { decisionId: id, argsHash: inputsDigest }: CallIdentity,
  nowMs: number,
  { outcome, ruling, reservationId }: Said,
  bypasses: RuleBypass[],
  latencyMs: number,
): Decision {
  return {
    ...{ id, tenantId, agentId, runId, phase },
    ...(tool === undefined ? {} : { toolName: tool.name.slice(0, MOST_NAME_CHARS).toWellFormed() }),
    ...(callId === undefined ? {} : { callId }),
    ...outcome,
    evaluatedRules: [...(ruling?.findings ?? [])],
    ...(reservationId === undefined ? {} : { reservationId }),
    ...{ bypasses, inputsDigest, latencyMs, decidedAt: new Date(nowMs).toISOString() },
  };
}
