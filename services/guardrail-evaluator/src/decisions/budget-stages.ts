import type { Budget, DecisionRequest } from '@agentlens/contracts';
import type { Unavailable } from '@agentlens/guardrails';
import type { AppliedBudget } from '../budgets/accounts.ts';
import type { Progress, Stage } from '../stages.ts';
import { type BudgetRefusal, blockedBy, type Call, type DecisionPorts, logsFailure, type Question } from './call.ts';

type BudgetPorts = Pick<DecisionPorts, 'budgets' | 'circuit' | 'logger'>;

/** Finds the budgets that apply to the call, over all its callers. A call that has ended costs nothing more. */
export function findBudgets(ports: BudgetPorts): Stage<Call> {
  const { budgets, circuit } = ports;
  const withSession = async (caller: DecisionRequest, { deadline }: Call) => {
    if (!budgets.needsSession(caller)) return caller;
    const failed = logsFailure(ports, caller, 'fetching the session of a run failed');
    const known = await circuit.ask(deadline, () => budgets.sessionOf(caller), failed);
    return typeof known === 'string' ? caller : { ...caller, ...known };
  };
  const charge = (call: Call, callers: readonly DecisionRequest[]): Progress => {
    const applied = callers.flatMap((caller) => budgets.applying(caller));
    if (applied.length > 0) call.budgets = [...new Map(applied.map((one) => [potOf(one), one])).values()];
    return 'next';
  };
  return {
    run(call) {
      const { callers, request } = call;
      if (request.phase === 'tool.after') return 'next';
      if (!callers.some((caller) => budgets.needsSession(caller))) return charge(call, callers);
      return Promise.all(callers.map((caller) => withSession(caller, call))).then((known) => charge(call, known));
    },
  };
}

function potOf({ account: { budgetId, scopeId, periodStart } }: AppliedBudget): string {
  return JSON.stringify([budgetId, scopeId, periodStart]);
}

/** Asks whether a budget is spent. A call with an estimate is not asked about here: it reserves the estimate. */
export function askBudgets(ports: BudgetPorts): Stage<Question> {
  const { budgets, circuit } = ports;
  const ask = async (question: Question) => {
    const { request, budgets: applied, call } = question;
    const failed = logsFailure(ports, request, 'checking budgets failed');
    const budget = await circuit.ask(call.deadline, () => budgets.spent(request, applied, call.nowMs), failed);
    if (typeof budget === 'string') question.spentBudget = unavailableBudgets(question, budget);
    else if (budget !== null) question.spentBudget = { budget, why: 'spent' };
    return 'next' as const;
  };
  return {
    run: (question) =>
      question.budgets.length === 0 || question.request.estimate !== undefined ? 'next' : ask(question),
  };
}

/** Blocks the call if a budget is spent, unless a rule ends the run. */
export function spentBudget(ports: Pick<DecisionPorts, 'metrics'>): Stage<Question> {
  return {
    run(question) {
      const { spentBudget: spent, answer } = question;
      return spent === null || answer?.outcome.control === 'TERMINATE' ? 'next' : refused(ports, question, spent);
    },
  };
}

/** Reserves the estimate of a call that everything else allows. Blocks the call if it does not fit. */
export function reservation(ports: BudgetPorts & Pick<DecisionPorts, 'metrics'>): Stage<Question> {
  const { budgets, circuit } = ports;
  const reserve = async (question: Question, { costUsd }: NonNullable<DecisionRequest['estimate']>) => {
    const { request, budgets: applied, call } = question;
    const failed = logsFailure(ports, request, 'reserving budget failed');
    const reserved = () => budgets.reserve(request, costUsd, applied, call.identity, call.nowMs);
    const result = await circuit.ask(call.deadline, reserved, failed);
    if (typeof result === 'string') {
      const refusal = unavailableBudgets(question, result);
      return refusal === null ? 'next' : refused(ports, question, refusal);
    }
    if ('refusedBy' in result) {
      const budget = result.refusedBy ?? (applied[0] as AppliedBudget).budget;
      return refused(ports, question, { budget, why: 'estimate' });
    }
    if (question.answer !== undefined) question.answer = { ...question.answer, ...result };
    return 'next';
  };
  return {
    run(question) {
      const { request, budgets: applied, answer } = question;
      if (answer?.outcome.verdict !== 'ALLOW' || applied.length === 0 || request.estimate === undefined) return 'next';
      return reserve(question, request.estimate);
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
function refused({ metrics }: Pick<DecisionPorts, 'metrics'>, question: Question, refusal: BudgetRefusal): Progress {
  const { id, name } = refusal.budget;
  const message = {
    spent: `The budget "${name}" is spent`,
    estimate: `What this call is expected to cost does not fit into the budget "${name}" any more`,
    unavailable: `The budget "${name}" could not be asked in time`,
  }[refusal.why];
  question.answer = { ...question.answer, outcome: { ...blockedBy(id, message), reason: 'budget', budgetId: id } };
  metrics.refusedByBudget(refusal);
  return 'done';
}
