import type { Decision } from '@agentlens/contracts';
import { metrics } from '@opentelemetry/api';

/** What deciding counts. Without a telemetry SDK every call is free of effect. */
export class DecisionMetrics {
  readonly #decisions;
  readonly #bypasses;
  readonly #latency;
  readonly #dropped;

  constructor() {
    const meter = metrics.getMeter('@agentlens/guardrail-evaluator');
    this.#decisions = meter.createCounter('agentlens.evaluator.decisions', {
      description: 'Decisions, by phase, verdict and what the rules said',
    });
    this.#bypasses = meter.createCounter('agentlens.evaluator.bypasses', {
      description:
        'Rules, budgets and breakers that could not be evaluated for a decision, by reason and what they did',
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

  decided({ phase, verdict, effect, bypasses, latencyMs }: Decision): void {
    this.#decisions.add(1, { phase, verdict, effect });
    this.#latency.record(latencyMs, { phase });
    for (const { why, did } of bypasses) this.#bypasses.add(1, { why, did });
  }

  dropped(count = 1): void {
    this.#dropped.add(count);
  }
}
