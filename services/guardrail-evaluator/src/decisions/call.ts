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
  type PipelineStage,
  type Platform,
  runStages,
} from '@agentlens/platform';
import type { BreakerService, BreakerVerdict } from '../breakers/breaker.service.ts';
import type { AppliedBudget } from '../budgets/accounts.ts';
import type { BudgetService } from '../budgets/budget.service.ts';
import type { EndedCalls } from './ended-calls.ts';
import type { FactGatherer, FetchedHistory } from './fact-gatherer.ts';
import { Deadline, type StateCircuit } from './state-circuit.ts';

/** What the stages of a decision depend on. Each stage names the ports that it uses. */
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

/** A call while it is being decided. */
export interface Call {
  readonly request: DecisionRequest;
  readonly identity: CallIdentity;
  readonly nowMs: number;
  readonly deadline: Deadline;
  /** Each of them must be allowed to make the call: the one that started the run, if it differs, and the one that asks. */
  readonly callers: readonly DecisionRequest[];
  readonly bypasses: RuleBypass[];
  /** The approvals that allow this call, by rule. An approval is used once, for all callers of the call. */
  readonly approved: Map<string, string>;
  /** The budgets that apply, over all callers. */
  budgets: readonly AppliedBudget[];
  /** One question per caller. */
  questions: readonly Question[];
  /** The questions that were judged: all, or those up to the first block. */
  readonly judged: Question[];
  /** The history of the run, fetched once for all callers. */
  history?: Promise<FetchedHistory>;
  /** True for the result of a call that was asked about and allowed; found out only if the result clears a label. */
  endsAllowedCall?: boolean;
  answer?: Answer;
}

/** The refusal of a budget. `unavailable`: the budget could not be checked and is set to block in that case. */
export interface BudgetRefusal {
  readonly budget: Budget;
  readonly why: 'spent' | 'estimate' | 'unavailable';
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
  breaker: BreakerVerdict | Unavailable;
  spentBudget: BudgetRefusal | null;
  facts?: DecisionFacts;
  ruling?: Ruling;
  approvalsAsked: number;
  answer?: Answer | undefined;
}

export function callOf(request: DecisionRequest, identity: CallIdentity, nowMs: number): Call {
  const { startedAs, ...asked } = request;
  return {
    request,
    identity,
    nowMs,
    deadline: new Deadline(request.deadlineMs),
    callers: startedAs === undefined ? [asked] : [{ ...asked, ...startedAs }, asked],
    bypasses: [],
    approved: new Map(),
    budgets: [],
    questions: [],
    judged: [],
  };
}

/** A stage for the call as a whole. Returns an answer that no later stage changes, or undefined to continue. */
export type CallStage = PipelineStage<Call, Answer>;
/** A stage for the question of one caller. Returns an answer that no later stage changes, or undefined to continue. */
export type QuestionStage = PipelineStage<Question, Answer>;

/**
 * Judges the question of each caller by the same stages, the one that asks last. The first block decides. Arguments
 * that a rule changed for one caller are judged for the next.
 */
export function forEachCaller(stages: readonly QuestionStage[]): CallStage {
  return {
    async run(call): Promise<undefined> {
      for (const asked of call.questions) {
        call.judged.push(asked);
        const question = withArgs(asked, call.answer?.outcome.modifiedArgs);
        const answer = (await runStages(stages, question)) ?? question.answer;
        if (answer === undefined) throw new Error('no stage answered the question of a caller');
        call.answer = call.answer === undefined ? answer : combined(call.answer, answer);
        if (call.answer.outcome.verdict === 'BLOCK') return;
      }
    },
  };
}

/** A stage that fetches what later stages judge. */
interface FetchingStage {
  run(question: Question): Promise<undefined> | undefined;
}

/** Runs stages at the same time and waits for those that return a promise. */
export function together(stages: readonly FetchingStage[]): QuestionStage {
  return {
    async run(question): Promise<undefined> {
      await Promise.all(stages.flatMap((stage) => stage.run(question) ?? []));
    },
  };
}

/** Repeats stages until one of them answers. The stages that follow may still change that answer. */
export function untilAnswered(stages: readonly QuestionStage[]): QuestionStage {
  return {
    async run(question): Promise<undefined> {
      while (question.answer === undefined) question.answer = await runStages(stages, question);
    },
  };
}

function withArgs(question: Question, args: unknown): Question {
  return args === undefined
    ? question
    : { ...question, request: { ...question.request, args, writtenArgs: undefined } };
}

/** Combines the answers for two callers. Findings of rules that were not checked again and changed arguments are kept. */
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
