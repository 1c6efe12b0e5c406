import type { Decision } from '@agentlens/contracts';
import { metrics } from '@opentelemetry/api';
import type { BudgetRefusal } from './outcome.ts';

/** What deciding counts. Without a telemetry SDK every call is free of effect. */
export class DecisionMetrics {
  readonly #decisions;
  readonly #bypasses;
  readonly #latency;
  readonly #dropped;
  readonly #refusals;

  constructor() {
    const meter = metrics.getMeter('@agentlens/guardrail-evaluator');
    this.#decisions = meter.createCounter('agentlens.evaluator.decisions', {
      description: 'Decisions, by phase, verdict and what the rules said',
    });
    this.#bypasses = meter.createCounter('agentlens.evaluator.bypasses', {
      description:
        'Rules, budgets and breakers that could not be evaluated for a decision, by reason and what they did',
    });
    this.#refusals = meter.createCounter('agentlens.evaluator.budget_refusals', {
      description: 'Calls a budget refused, by its scope and period and why: spent, estimate too high, unavailable',
    });
    this.#latency = meter.createHistogram('agentlens.evaluator.decision_latency', {
      description: 'From taking a question to having its answer',
      unit: 'ms',
      advice: { explicitBucketBoundaries: [0.1, 0.25, 0.5, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000] },
    });
    this.#dropped = meter.createCounter('agentlens.evaluator.decisions_dropped', {
      description: 'Decisions that were answered and could not be published',
    });
  }

  refusedByBudget({ budget: { scope, period }, why }: BudgetRefusal): void {
    this.#refusals.add(1, { scope, period, why });
  }

  decided({ phase, verdict, effect, bypasses, latencyMs }: Decision): void {
    this.#decisions.add(1, { phase, verdict, effect });
    this.#latency.record(latencyMs, { phase });
    for (const { why, did } of bypasses) this.#bypasses.add(1, { why, did });
  }

  dropped(count = 1): void {
    this.#dropped.add(count);
  }
}
