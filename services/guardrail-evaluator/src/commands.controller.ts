import { COMMANDS, type QuestionOf } from '@agentlens/contracts';
import { HandlesCommand } from '@agentlens/platform';
import { Controller, Inject, UseFilters } from '@nestjs/common';
import { StoreErrorFilter } from './command-refusals.ts';
import { GuardrailEvaluator } from './guardrail-evaluator.ts';

type Question<Name extends keyof typeof COMMANDS> = QuestionOf<(typeof COMMANDS)[Name]>;

/** Handles commands that change or read rules, limits and budgets. */
@Controller()
@UseFilters(StoreErrorFilter)
export class EvaluatorCommands {
  constructor(@Inject(GuardrailEvaluator) private readonly evaluator: GuardrailEvaluator) {}

  @HandlesCommand(COMMANDS.rearmRules)
  rearmRules({ at, ...order }: Question<'rearmRules'>) {
    return this.evaluator.rearm({ ...order, atMs: Date.parse(at) });
  }

  @HandlesCommand(COMMANDS.createRule)
  createRule({ tenantId, body, ...author }: Question<'createRule'>) {
    return this.evaluator.writer.create(tenantId, body, author);
  }

  @HandlesCommand(COMMANDS.updateRule)
  updateRule({ body, ...ref }: Question<'updateRule'>) {
    return this.evaluator.writer.update(ref, body);
  }

  @HandlesCommand(COMMANDS.importPolicy)
  importPolicy({ tenantId, body, ...author }: Question<'importPolicy'>) {
    return this.evaluator.writer.importPolicy(tenantId, body, author);
  }

  @HandlesCommand(COMMANDS.deleteRule)
  deleteRule(ref: Question<'deleteRule'>) {
    return this.evaluator.writer.delete(ref);
  }

  @HandlesCommand(COMMANDS.revertRule)
  revertRule({ version, ...ref }: Question<'revertRule'>) {
    return this.evaluator.writer.revert(ref, version);
  }

  @HandlesCommand(COMMANDS.promoteRule)
  promoteRule({ promotion, ...ref }: Question<'promoteRule'>) {
    return this.evaluator.rollouts.promote(ref, promotion);
  }

  @HandlesCommand(COMMANDS.suspendRule)
  suspendRule({ suspended, ...ref }: Question<'suspendRule'>) {
    return this.evaluator.rollouts.suspend(ref, suspended);
  }

  @HandlesCommand(COMMANDS.planRuleset)
  planRuleset({ body, ...ref }: Question<'planRuleset'>) {
    return this.evaluator.rulesets.plan(ref, body);
  }

  @HandlesCommand(COMMANDS.applyRuleset)
  applyRuleset({ body, ...ref }: Question<'applyRuleset'>) {
    return this.evaluator.rulesets.apply(ref, body);
  }

  @HandlesCommand(COMMANDS.releaseRuleset)
  releaseRuleset(ref: Question<'releaseRuleset'>) {
    return this.evaluator.rulesets.release(ref);
  }

  @HandlesCommand(COMMANDS.ruleBundle)
  ruleBundle(agent: Question<'ruleBundle'>) {
    return this.evaluator.decisions.bundle(agent);
  }

  @HandlesCommand(COMMANDS.setBreakerLimits)
  setBreakerLimits(question: Question<'setBreakerLimits'>) {
    return this.evaluator.decisions.breakerCommands.setLimits(question);
  }

  @HandlesCommand(COMMANDS.patchBreakerLimits)
  patchBreakerLimits(question: Question<'patchBreakerLimits'>) {
    return this.evaluator.decisions.breakerCommands.patchLimits(question);
  }

  @HandlesCommand(COMMANDS.deleteBreakerLimits)
  deleteBreakerLimits(question: Question<'deleteBreakerLimits'>) {
    return this.evaluator.decisions.breakerCommands.deleteLimits(question);
  }

  @HandlesCommand(COMMANDS.resetBreaker)
  resetBreaker(question: Question<'resetBreaker'>) {
    return this.evaluator.decisions.breakerCommands.reset(question);
  }

  @HandlesCommand(COMMANDS.createBudget)
  createBudget(question: Question<'createBudget'>) {
    return this.evaluator.decisions.budgetCommands.create(question);
  }

  @HandlesCommand(COMMANDS.updateBudget)
  updateBudget(question: Question<'updateBudget'>) {
    return this.evaluator.decisions.budgetCommands.update(question);
  }

  @HandlesCommand(COMMANDS.deleteBudget)
  deleteBudget(question: Question<'deleteBudget'>) {
    return this.evaluator.decisions.budgetCommands.remove(question);
  }

  @HandlesCommand(COMMANDS.budgetStanding)
  budgetStanding(question: Question<'budgetStanding'>) {
    return this.evaluator.decisions.budgetCommands.balance(question);
  }

  @HandlesCommand(COMMANDS.settleReservation)
  settleReservation(question: Question<'settleReservation'>) {
    return this.evaluator.decisions.budgetCommands.settle(question);
  }

  @HandlesCommand(COMMANDS.readLabels)
  readLabels(question: Question<'readLabels'>) {
    return this.evaluator.decisions.labelCommands.read(question);
  }

  @HandlesCommand(COMMANDS.clearLabel)
  clearLabel(question: Question<'clearLabel'>) {
    return this.evaluator.decisions.labelCommands.clear(question);
  }
}
