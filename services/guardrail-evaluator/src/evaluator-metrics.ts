import type { StopCounts } from '@agentlens/guardrails';
import { metrics } from '@opentelemetry/api';

/**
 * What the evaluator can drop:
 * - `late_value`: an event's contribution to a window that had moved on when the event arrived.
 * - `rule_state`: the newest value of a rule for the console, during a long outage of Postgres.
 * - `breaker_change`: the record of a breaker change, until the breaker is next read.
 * - `ended_call`: the report that a call ended, because the dispatcher refused it or was away for very long.
 * - `ledger_entry`: an amount that the budget ledger cannot store; the budget in the state store keeps it.
 * - `label_record`: the record of a label that the database cannot store; the state store keeps the label.
 * - `evaluation_mark`: the report to the auditor that a message was evaluated, during a long outage of Redis.
 */
type DroppedByEvaluator =
  | 'late_value'
  | 'rule_state'
  | 'breaker_change'
  | 'ended_call'
  | 'ledger_entry'
  | 'label_record'
  | 'evaluation_mark';

/** Counts the items that the evaluator drops. */
export class EvaluatorDropMetrics {
  readonly #dropped = metrics.getMeter('@agentlens/guardrail-evaluator').createCounter('agentlens.evaluator.dropped', {
    description: 'Items that the evaluator dropped, by kind',
  });

  dropped(what: DroppedByEvaluator, count: number): void {
    if (count > 0) this.#dropped.add(count, { what });
  }
}

/** Metrics of the evaluator. Does nothing without a telemetry SDK. */
export class EvaluatorMetrics {
  readonly #stops;
  readonly #triggers;
  readonly #degraded;
  readonly #latency;

  constructor() {
    const meter = metrics.getMeter('@agentlens/guardrail-evaluator');
    this.#stops = meter.createCounter('agentlens.evaluator.stops', {
      description: 'Evaluations of a rule on an event that did not trigger, by reason',
    });
    this.#triggers = meter.createCounter('agentlens.evaluator.triggers', {
      description: 'Triggers published, by condition and mode',
    });
    this.#degraded = meter.createCounter('agentlens.evaluator.degraded', {
      description: 'Evaluations in which a rule failed',
    });
    this.#latency = meter.createHistogram('agentlens.evaluator.batch_latency', {
      description: 'Time from the arrival of a batch at the gateway to the end of its evaluation',
      unit: 'ms',
      advice: { explicitBucketBoundaries: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 30_000] },
    });
  }

  stopped(stops: StopCounts): void {
    for (const [reason, times] of Object.entries(stops)) this.#stops.add(times, { reason });
  }

  triggered(condition: string, dryRun: boolean): void {
    this.#triggers.add(1, { condition, dry_run: dryRun });
  }

  degraded(condition: string): void {
    this.#degraded.add(1, { condition });
  }

  evaluated(latencyMs: number): void {
    this.#latency.record(Math.max(0, latencyMs));
  }
}
