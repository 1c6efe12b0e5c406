import type { Budget, DecisionRequest, RuleBypass } from '@agentlens/contracts';
import type {
  CallIdentity,
  DecisionBook,
  DecisionFacts,
  DecisionRule,
  FactNeeds,
  Ruling,
  StepAllowance,
  Unavailable,
} from '@agentlens/guardrails';
import type { EventBus } from '@agentlens/messaging';
import {
  type Clock,
  type ControlBoard,
  type DecisionMetrics,
  type DecisionOutcome,
  type DecisionPublisher,
  type Platform,
} from '@agentlens/platform';
import type { BreakerService, BreakerVerdict } from '../breakers/breaker.service.ts';
import type { AppliedBudget } from '../budgets/accounts.ts';
import type { BudgetService } from '../budgets/budget.service.ts';
import type { EndedCalls } from './ended-calls.ts';
import type { FactGatherer, FetchedHistory } from './fact-gatherer.ts';
import type { Deadline, StateCircuit } from './state-circuit.ts';

/** What the steps of a decision depend on. Each step names the ports that it uses. */
export interface DecisionPorts {
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
  /** The evaluation steps that the rules of one call may take. */
  readonly steps: { ofCall(tenantId: string): StepAllowance };
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

export interface Answer {
  readonly outcome: DecisionOutcome;
  readonly ruling?: Ruling;
  readonly reservationId?: string;
}

/** A call while it is being decided: what is asked, and what the steps note on the way. */
export interface Call {
  readonly request: DecisionRequest;
  readonly identity: CallIdentity;
  readonly nowMs: number;
  readonly deadline: Deadline;
  /** Each of them must be allowed to make the call: the one that started the run, if it differs, and the one that asks. */
  readonly callers: readonly [DecisionRequest, ...DecisionRequest[]];
  /** What could not be asked or evaluated. */
  readonly bypasses: RuleBypass[];
  /** The approvals that allow this call, by rule. An approval is used once, for all callers of the call. */
  readonly approved: Map<string, string>;
  /** The history of the run, fetched once for all callers; notes the call. */
  readonly history: () => Promise<FetchedHistory>;
  /** Whether this is the result of a call that was asked about and allowed. Looked up once. */
  readonly endsAllowedCall: () => Promise<boolean>;
}

/** The question whether one caller may make a call. */
export interface Question {
  readonly call: Call;
  readonly request: DecisionRequest;
  readonly matching: readonly DecisionRule[];
  readonly needs: FactNeeds;
  /** The steps that the rules may take for this question. */
  readonly allowance: StepAllowance;
  /** The budgets to charge. Empty except for the last caller, so that a call is charged once. */
  readonly budgets: readonly AppliedBudget[];
}

/** The questions of all callers, the one that asks last. */
export type Questions = readonly [Question, ...Question[]];

/** The refusal of a budget. `unavailable`: the budget could not be checked and is set to block in that case. */
export interface BudgetRefusal {
  readonly budget: Budget;
  readonly why: 'spent' | 'estimate' | 'unavailable';
}

/** The budgets that apply to a call, over all its callers. */
export interface Charged {
  readonly charged: readonly AppliedBudget[];
}

/*
 * What the steps of a question return. Each takes what the one before returns, so that the compiler rejects steps that
 * are missing or in another order.
 */

/** What a question is judged by. */
export interface Fetched {
  readonly breaker: BreakerVerdict | Unavailable;
  readonly spentBudget: BudgetRefusal | null;
  readonly facts: DecisionFacts;
}

/** No breaker stops the call. */
export interface Unlocked {
  readonly breaker: 'allows';
  readonly spentBudget: BudgetRefusal | null;
  readonly facts: DecisionFacts;
}

/** The rules have answered. */
export interface Ruled {
  readonly ruled: Answer;
  readonly spentBudget: BudgetRefusal | null;
}

/** No spent budget stops the call. */
export interface Affordable {
  readonly affordable: Answer;
}

/** The question of every caller is answered, or the first that was blocked. */
export interface Judged {
  readonly answer: Answer;
  readonly judged: readonly Question[];
}

/** The run tree has the labels of the call. */
export interface Labelled extends Judged {
  readonly labels: 'set';
}

export function startCall(
  request: DecisionRequest,
  identity: CallIdentity,
  nowMs: number,
  deadline: Deadline,
  facts: Pick<FactGatherer, 'history' | 'endsAllowedCall'>,
): Call {
  const { startedAs, ...asked } = request;
  let history: Promise<FetchedHistory> | undefined;
  let endsAllowedCall: Promise<boolean> | undefined;
  return {
    request,
    identity,
    nowMs,
    deadline,
    callers: startedAs === undefined ? [asked] : [{ ...asked, ...startedAs }, asked],
    bypasses: [],
    approved: new Map(),
    history: () => (history ??= facts.history(request, identity, deadline)),
    endsAllowedCall: () => (endsAllowedCall ??= facts.endsAllowedCall(request, identity, deadline)),
  };
}

/**
 * Judges the question of each caller. The first block decides. Arguments that a rule changed for one caller are judged
 * for the next.
 */
export async function judgeCallers(
  [first, ...others]: Questions,
  judge: (question: Question) => Promise<Answer>,
): Promise<Judged> {
  const judged = [first];
  let answer = await judge(first);
  for (const question of others) {
    if (answer.outcome.verdict === 'BLOCK') break;
    judged.push(question);
    answer = combine(answer, await judge(withArgs(question, answer.outcome.modifiedArgs)));
  }
  return { answer, judged };
}

function withArgs(question: Question, args: unknown): Question {
  return args === undefined
    ? question
    : { ...question, request: { ...question.request, args, writtenArgs: undefined } };
}

/** Combines the answers for two callers. Findings of rules that were not checked again and changed arguments are kept. */
function combine(before: Answer, next: Answer): Answer {
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

/** The refusal of a rule or a budget. The run may continue. */
export function blockedBy(id: string, message: string): DecisionOutcome {
  const cause = { kind: 'RULE_VIOLATION', ruleId: id } as const;
  return { verdict: 'BLOCK', control: 'CONTINUE', effect: 'block', cause, message, finalRuleId: id };
}

/** Logs that work for a call failed. The decision continues without it. */
export function logsFailure(
  { logger }: Pick<DecisionPorts, 'logger'>,
  { tenantId, runId }: DecisionRequest,
  what: string,
) {
  return (error: unknown) => logger.warn({ err: error, tenantId, runId }, what);
}
