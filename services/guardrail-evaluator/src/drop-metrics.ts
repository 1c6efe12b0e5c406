import { metrics } from '@opentelemetry/api';

/**
 * What evaluation lets go of:
 * `late_value`, an event's contribution to a window that had moved on when the event arrived;
 * `rule_state`, a rule's newest value for the screens, while Postgres is away for long;
 * `breaker_change`, the record of one, until somebody next reads the breaker;
 * `evaluation_mark`, word to the auditor that a message was evaluated, while Redis is away for long.
 */
type DroppedByEvaluator = 'late_value' | 'rule_state' | 'breaker_change' | 'evaluation_mark';

/** Counts what the evaluator lets go of; each count is the number of things that are gone. */
export class EvaluatorDropMetrics {
  readonly #dropped = metrics.getMeter('@agentlens/guardrail-evaluator').createCounter('agentlens.evaluator.dropped', {
    description:
      'Values that came too late for their window, and states, breaker changes and marks for the auditor that were not kept, by what it was',
  });

  dropped(what: DroppedByEvaluator, count: number): void {
    if (count > 0) this.#dropped.add(count, { what });
  }
}
