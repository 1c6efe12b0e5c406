import { COMMANDS, type QuestionOf } from '@agentlens/contracts';
import { HandlesCommand } from '@agentlens/platform';
import { Controller, Inject, UseFilters } from '@nestjs/common';
import { BreakerCommands } from './breakers/breakers.commands.ts';
import { BudgetCommands } from './budgets/budgets.commands.ts';
import { StoreErrorFilter } from './command-refusals.ts';
import { RuleBundles } from './decisions/rule-bundle.ts';
import { TriggerPublisher } from './evaluation/evaluation-steps.ts';
import { LabelCommands } from './labels/recorded-labels.ts';
import { RuleRollouts } from './rules/rule-rollouts.ts';
import { RuleWriter } from './rules/rule-writer.ts';
import { RulesetWriter } from './rules/ruleset-writer.ts';

type Question<Name extends keyof typeof COMMANDS> = QuestionOf<(typeof COMMANDS)[Name]>;

/** Handles commands that change or read rules, limits and budgets. */
@Controller()
@UseFilters(StoreErrorFilter)
export class EvaluatorCommands {
  constructor(
    @Inject(RuleWriter) private readonly writer: RuleWriter,
    @Inject(RulesetWriter) private readonly rulesets: RulesetWriter,
    @Inject(RuleRollouts) private readonly rollouts: RuleRollouts,
    @Inject(RuleBundles) private readonly bundles: RuleBundles,
    @Inject(BreakerCommands) private readonly breakers: BreakerCommands,
    @Inject(BudgetCommands) private readonly budgets: BudgetCommands,
    @Inject(LabelCommands) private readonly labels: LabelCommands,
    @Inject(TriggerPublisher) private readonly triggers: TriggerPublisher,
  ) {}

  @HandlesCommand(COMMANDS.rearmRules)
  async rearmRules({ at, ...order }: Question<'rearmRules'>) {
    await this.triggers.rearm({ ...order, atMs: Date.parse(at) });
    return { ok: true, value: { ok: true } } as const;
  }

  @HandlesCommand(COMMANDS.createRule)
  createRule({ tenantId, body, ...author }: Question<'createRule'>) {
    return this.writer.create(tenantId, body, author);
  }

  @HandlesCommand(COMMANDS.updateRule)
  updateRule({ body, ...ref }: Question<'updateRule'>) {
    return this.writer.update(ref, body);
  }

  @HandlesCommand(COMMANDS.importPolicy)
  importPolicy({ tenantId, body, ...author }: Question<'importPolicy'>) {
    return this.writer.importPolicy(tenantId, body, author);
  }

  @HandlesCommand(COMMANDS.deleteRule)
  deleteRule(ref: Question<'deleteRule'>) {
    return this.writer.delete(ref);
  }

  @HandlesCommand(COMMANDS.revertRule)
  revertRule({ version, ...ref }: Question<'revertRule'>) {
    return this.writer.revert(ref, version);
  }

  @HandlesCommand(COMMANDS.promoteRule)
  promoteRule({ promotion, ...ref }: Question<'promoteRule'>) {
    return this.rollouts.promote(ref, promotion);
  }

  @HandlesCommand(COMMANDS.suspendRule)
  suspendRule({ suspended, ...ref }: Question<'suspendRule'>) {
    return this.rollouts.suspend(ref, suspended);
  }

  @HandlesCommand(COMMANDS.planRuleset)
  planRuleset({ body, ...ref }: Question<'planRuleset'>) {
    return this.rulesets.plan(ref, body);
  }

  @HandlesCommand(COMMANDS.applyRuleset)
  applyRuleset({ body, ...ref }: Question<'applyRuleset'>) {
    return this.rulesets.apply(ref, body);
  }

  @HandlesCommand(COMMANDS.releaseRuleset)
  releaseRuleset(ref: Question<'releaseRuleset'>) {
    return this.rulesets.release(ref);
  }

  @HandlesCommand(COMMANDS.ruleBundle)
  ruleBundle(agent: Question<'ruleBundle'>) {
    return this.bundles.answer(agent);
  }

  @HandlesCommand(COMMANDS.setBreakerLimits)
  setBreakerLimits(question: Question<'setBreakerLimits'>) {
    return this.breakers.setLimits(question);
  }

  @HandlesCommand(COMMANDS.patchBreakerLimits)
  patchBreakerLimits(question: Question<'patchBreakerLimits'>) {
    return this.breakers.patchLimits(question);
  }

  @HandlesCommand(COMMANDS.deleteBreakerLimits)
  deleteBreakerLimits(question: Question<'deleteBreakerLimits'>) {
    return this.breakers.deleteLimits(question);
  }

  @HandlesCommand(COMMANDS.resetBreaker)
  resetBreaker(question: Question<'resetBreaker'>) {
    return this.breakers.reset(question);
  }

  @HandlesCommand(COMMANDS.createBudget)
  createBudget(question: Question<'createBudget'>) {
    return this.budgets.create(question);
  }

  @HandlesCommand(COMMANDS.updateBudget)
  updateBudget(question: Question<'updateBudget'>) {
    return this.budgets.update(question);
  }

  @HandlesCommand(COMMANDS.deleteBudget)
  deleteBudget(question: Question<'deleteBudget'>) {
    return this.budgets.remove(question);
  }

  @HandlesCommand(COMMANDS.budgetStanding)
  budgetStanding(question: Question<'budgetStanding'>) {
    return this.budgets.balance(question);
  }

  @HandlesCommand(COMMANDS.settleReservation)
  settleReservation(question: Question<'settleReservation'>) {
    return this.budgets.settle(question);
  }

  @HandlesCommand(COMMANDS.readLabels)
  readLabels(question: Question<'readLabels'>) {
    return this.labels.read(question);
  }

  @HandlesCommand(COMMANDS.clearLabel)
  clearLabel(question: Question<'clearLabel'>) {
    return this.labels.clear(question);
  }
}
