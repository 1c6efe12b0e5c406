import type { Budget, DecisionRequest } from '@agentlens/contracts';
import type { Unavailable } from '@agentlens/guardrails';
import type { AppliedBudget } from '../budgets/accounts.ts';
import {
  type Answer,
  type BudgetRefusal,
  blockedBy,
  type Call,
  type CallStage,
  type DecisionPorts,
  logsFailure,
  type Question,
  type QuestionStage,
} from './call.ts';

type BudgetPorts = Pick<DecisionPorts, 'budgets' | 'circuit' | 'logger'>;

/** Finds the budgets that apply to the call, over all its callers. A call that has ended costs nothing more. */
export function findBudgets(ports: BudgetPorts): CallStage {
  const { budgets, circuit } = ports;
  const withSession = async (caller: DecisionRequest, { deadline }: Call) => {
    if (!budgets.needsSession(caller)) return caller;
    const failed = logsFailure(ports, caller, 'fetching the session of a run failed');
    const known = await circuit.ask(deadline, () => budgets.sessionOf(caller), failed);
    return typeof known === 'string' ? caller : { ...caller, ...known };
  };
  const charge = (call: Call, callers: readonly DecisionRequest[]): undefined => {
    const applied = callers.flatMap((caller) => budgets.applying(caller));
    if (applied.length > 0) call.budgets = [...new Map(applied.map((one) => [potOf(one), one])).values()];
  };
  return {
    run(call) {
      const { callers, request } = call;
      if (request.phase === 'tool.after') return undefined;
      if (!callers.some((caller) => budgets.needsSession(caller))) return charge(call, callers);
      return Promise.all(callers.map((caller) => withSession(caller, call))).then((known) => charge(call, known));
    },
  };
}

function potOf({ account: { budgetId, scopeId, periodStart } }: AppliedBudget): string {
  return JSON.stringify([budgetId, scopeId, periodStart]);
}

/** Asks whether a budget is spent. A call with an estimate is not asked about here: it reserves the estimate. */
export function askBudgets(ports: BudgetPorts) {
  const { budgets, circuit } = ports;
  const ask = async (question: Question): Promise<undefined> => {
    const { request, budgets: applied, call } = question;
    const failed = logsFailure(ports, request, 'checking budgets failed');
    const budget = await circuit.ask(call.deadline, () => budgets.spent(request, applied, call.nowMs), failed);
    if (typeof budget === 'string') question.spentBudget = unavailableBudgets(question, budget);
    else if (budget !== null) question.spentBudget = { budget, why: 'spent' };
  };
  return {
    run: (question: Question) =>
      question.budgets.length === 0 || question.request.estimate !== undefined ? undefined : ask(question),
  };
}

/** Blocks the call if a budget is spent, unless a rule ends the run. */
export function judgeBudgets(ports: Pick<DecisionPorts, 'metrics'>): QuestionStage {
  return {
    run(question) {
      const { spentBudget: spent, answer } = question;
      return spent === null || answer?.outcome.control === 'TERMINATE' ? undefined : refused(ports, question, spent);
    },
  };
}

/** Reserves the estimate of a call that everything else allows. Blocks the call if it does not fit. */
export function reserveBudgets(ports: BudgetPorts & Pick<DecisionPorts, 'metrics'>): QuestionStage {
  const { budgets, circuit } = ports;
  const reserve = async (question: Question, answer: Answer, costUsd: number) => {
    const { request, budgets: applied, call } = question;
    const failed = logsFailure(ports, request, 'reserving budget failed');
    const reserved = () => budgets.reserve(request, costUsd, applied, call.identity, call.nowMs);
    const result = await circuit.ask(call.deadline, reserved, failed);
    if (typeof result === 'string') {
      const refusal = unavailableBudgets(question, result);
      return refusal === null ? undefined : refused(ports, question, refusal);
    }
    if ('reservationId' in result) return { ...answer, ...result };
    const budget = result.refusedBy ?? (applied[0] as AppliedBudget).budget;
    return refused(ports, question, { budget, why: 'estimate' });
  };
  return {
    run(question) {
      const { request, budgets: applied, answer } = question;
      if (answer?.outcome.verdict !== 'ALLOW' || applied.length === 0 || request.estimate === undefined)
        return undefined;
      return reserve(question, answer, request.estimate.costUsd);
    },
  };
}

/** Applies each budget's `onUnavailable` setting; the first budget that blocks decides. */
function unavailableBudgets({ budgets, call }: Question, why: Unavailable): BudgetRefusal | null {
  let blocking: Budget | undefined;
  for (const { budget } of budgets) {
    call.bypasses.push({ ruleId: budget.id, why, did: budget.onUnavailable });
    if (budget.onUnavailable === 'block') blocking ??= budget;
  }
  return blocking === undefined ? null : { budget: blocking, why: 'unavailable' };
}

/** The message names the budget, never its amount. */
function refused({ metrics }: Pick<DecisionPorts, 'metrics'>, question: Question, refusal: BudgetRefusal): Answer {
  const { id, name } = refusal.budget;
  const message = {
    spent: `The budget "${name}" is spent`,
    estimate: `What this call is expected to cost does not fit into the budget "${name}" any more`,
    unavailable: `The budget "${name}" could not be asked in time`,
  }[refusal.why];
  metrics.refusedByBudget(refusal);
  return { ...question.answer, outcome: { ...blockedBy(id, message), reason: 'budget', budgetId: id } };
}
