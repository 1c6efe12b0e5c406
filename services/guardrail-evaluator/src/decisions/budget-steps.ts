import { type Budget, type DecisionRequest, hasHappened } from '@agentlens/contracts';
import type { Unavailable } from '@agentlens/guardrails';
import type { AppliedBudget } from '../budgets/accounts.ts';
import {
  type Affordable,
  type Answer,
  type BudgetRefusal,
  blockedBy,
  type Call,
  type Charged,
  type DecisionPorts,
  logsFailure,
  type Question,
  type Ruled,
} from './call.ts';

type BudgetPorts = Pick<DecisionPorts, 'budgets' | 'circuit' | 'logger'>;

/** Finds the budgets that apply to the call, over all its callers. A call that has ended costs nothing more. */
export async function findBudgets(ports: BudgetPorts, call: Call): Promise<Charged> {
  const { budgets } = ports;
  if (hasHappened(call.request.phase)) return { charged: [] };
  const callers = call.callers.some((caller) => budgets.needsSession(caller))
    ? await Promise.all(call.callers.map((caller) => withSession(ports, caller, call)))
    : call.callers;
  const applied = callers.flatMap((caller) => budgets.applying(caller));
  return { charged: [...new Map(applied.map((one) => [namePot(one), one])).values()] };
}

async function withSession(ports: BudgetPorts, caller: DecisionRequest, { deadline }: Call): Promise<DecisionRequest> {
  const { budgets, circuit } = ports;
  if (!budgets.needsSession(caller)) return caller;
  const failed = logsFailure(ports, caller, 'fetching the session of a run failed');
  const known = await circuit.ask(deadline, () => budgets.sessionOf(caller), failed);
  return typeof known === 'string' ? caller : { ...caller, ...known };
}

function namePot({ account: { budgetId, scopeId, periodStart } }: AppliedBudget): string {
  return JSON.stringify([budgetId, scopeId, periodStart]);
}

/** Asks whether a budget is spent. A call with an estimate is not asked about here: it reserves the estimate. */
export async function askBudgets(ports: BudgetPorts, question: Question): Promise<BudgetRefusal | null> {
  const { budgets, circuit } = ports;
  const { request, budgets: applied, call } = question;
  if (applied.length === 0 || request.estimate !== undefined) return null;
  const failed = logsFailure(ports, request, 'checking budgets failed');
  const budget = await circuit.ask(call.deadline, () => budgets.spent(request, applied, call.nowMs), failed);
  if (typeof budget === 'string') return refuseIfUnavailable(question, budget);
  return budget === null ? null : { budget, why: 'spent' };
}

/** Blocks the call if a budget is spent, unless a rule ends the run. */
export function judgeBudgets(
  ports: Pick<DecisionPorts, 'metrics'>,
  { ruled, spentBudget }: Ruled,
): Answer | Affordable {
  if (spentBudget === null || ruled.outcome.control === 'TERMINATE') return { affordable: ruled };
  return refuse(ports, ruled, spentBudget);
}

/** Reserves the estimate of a call that everything else allows. Blocks the call if it does not fit. */
export async function reserveBudgets(
  ports: BudgetPorts & Pick<DecisionPorts, 'metrics'>,
  question: Question,
  { affordable: answer }: Affordable,
): Promise<Answer> {
  const { budgets, circuit } = ports;
  const { request, call, budgets: applied } = question;
  const [first] = applied;
  if (answer.outcome.verdict !== 'ALLOW' || first === undefined || request.estimate === undefined) return answer;
  const { costUsd } = request.estimate;
  const failed = logsFailure(ports, request, 'reserving budget failed');
  const reserved = () => budgets.reserve(request, costUsd, applied, call.identity, call.nowMs);
  const result = await circuit.ask(call.deadline, reserved, failed);
  if (typeof result === 'string') {
    const refusal = refuseIfUnavailable(question, result);
    return refusal === null ? answer : refuse(ports, answer, refusal);
  }
  if ('reservationId' in result) return { ...answer, ...result };
  const why = request.grows === true ? 'spent' : 'estimate';
  return refuse(ports, answer, { budget: result.refusedBy ?? first.budget, why });
}

/** Applies each budget's `onUnavailable` setting; the first budget that blocks decides. */
function refuseIfUnavailable({ budgets, call }: Question, why: Unavailable): BudgetRefusal | null {
  let blocking: Budget | undefined;
  for (const { budget } of budgets) {
    call.bypasses.push({ ruleId: budget.id, why, did: budget.onUnavailable });
    if (budget.onUnavailable === 'block') blocking ??= budget;
  }
  return blocking === undefined ? null : { budget: blocking, why: 'unavailable' };
}

/** The message names the budget, never its amount. */
function refuse({ metrics }: Pick<DecisionPorts, 'metrics'>, answer: Answer, refusal: BudgetRefusal): Answer {
  const { id, name } = refusal.budget;
  const message = {
    spent: `The budget "${name}" is spent`,
    estimate: `What this call is expected to cost does not fit into the budget "${name}" any more`,
    unavailable: `The budget "${name}" could not be asked in time`,
  }[refusal.why];
  metrics.refusedByBudget(refusal);
  return { ...answer, outcome: { ...blockedBy(id, message), reason: 'budget', budgetId: id } };
}
