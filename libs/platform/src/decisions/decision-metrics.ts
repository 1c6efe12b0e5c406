import type { Budget, Decision } from '@agentlens/contracts';
import { metrics } from '@opentelemetry/api';

/** Maximum number of rules with their own series, per process. */
const MAX_NAMED_RULES = 500;

/** A refusal of a budget. */
interface RefusedByBudget {
  readonly budget: Budget;
  readonly why: string;
}

/** Metrics of decisions, of the evaluator and of gateways that decide. Does nothing without a telemetry SDK. */
export class DecisionMetrics {
  readonly #decisions;
  readonly #bypasses;
  readonly #latency;
  readonly #dropped;
  readonly #refusals;
  readonly #findings;
  /** Rules that have their own series. */
  readonly #named = new Set<string>();

  constructor() {
    const meter = metrics.getMeter('@agentlens/guardrail-evaluator');
    this.#decisions = meter.createCounter('agentlens.evaluator.decisions', {
      description: 'Decisions, by phase, verdict and effect of the rules',
    });
    this.#bypasses = meter.createCounter('agentlens.evaluator.bypasses', {
      description: 'Rules, budgets and breakers that could not be evaluated for a decision, by reason and effect',
    });
    this.#refusals = meter.createCounter('agentlens.evaluator.budget_refusals', {
      description:
        'Calls blocked by a budget, by its scope and period and by reason: spent, estimate too high, unavailable',
    });
    this.#findings = meter.createCounter('agentlens.evaluator.rule_matches', {
      description: 'Calls for which a matching rule required more than allow, by rule, mode and effect',
    });
    this.#latency = meter.createHistogram('agentlens.evaluator.decision_latency', {
      description: 'Time from receiving a question to its answer',
      unit: 'ms',
      advice: { explicitBucketBoundaries: [0.1, 0.25, 0.5, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000] },
    });
    this.#dropped = meter.createCounter('agentlens.evaluator.decisions_dropped', {
      description: 'Answered decisions that could not be published',
    });
  }

  refusedByBudget({ budget: { scope, period }, why }: RefusedByBudget): void {
    this.#refusals.add(1, { scope, period, why });
  }

  decided({ phase, verdict, effect, bypasses, latencyMs, evaluatedRules }: Decision): void {
    this.#decisions.add(1, { phase, verdict, effect });
    this.#latency.record(latencyMs, { phase });
    for (const { why, did } of bypasses) this.#bypasses.add(1, { why, did });
    for (const { violated, ruleId, mode, effect: asks } of evaluatedRules) {
      if (violated) this.#findings.add(1, { rule: this.#nameOf(ruleId), mode, effect: asks });
    }
  }

  /**
   * Each rule is a series. Further rules share one, so that a tenant with many rules does not slow down every scrape.
   */
  #nameOf(ruleId: string): string {
    if (this.#named.size < MAX_NAMED_RULES) this.#named.add(ruleId);
    return this.#named.has(ruleId) ? ruleId : 'other';
  }

  dropped(count = 1): void {
    this.#dropped.add(count);
  }
}
