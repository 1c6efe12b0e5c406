import { metrics } from '@opentelemetry/api';

/**
 * What the evaluator can drop:
 * - `late_value`: an event's contribution to a window that had moved on when the event arrived.
 * - `rule_state`: the newest value of a rule for the console, during a long outage of Postgres.
 * - `breaker_change`: the record of a breaker change, until the breaker is next read.
 * - `evaluation_mark`: the report to the auditor that a message was evaluated, during a long outage of Redis.
 */
type DroppedByEvaluator = 'late_value' | 'rule_state' | 'breaker_change' | 'evaluation_mark';

/** Counts the items that the evaluator drops. */
export class EvaluatorDropMetrics {
  readonly #dropped = metrics.getMeter('@agentlens/guardrail-evaluator').createCounter('agentlens.evaluator.dropped', {
    description: 'Dropped late values, rule states, breaker changes and evaluation marks, by kind',
  });

  dropped(what: DroppedByEvaluator, count: number): void {
    if (count > 0) this.#dropped.add(count, { what });
  }
}
