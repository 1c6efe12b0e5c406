import { metrics } from '@opentelemetry/api';

/** What the agent protocol counts beyond events. */
export class ProtocolMetrics {
  readonly #bypassed;
  readonly #overQuota;
  readonly #answered;

  constructor() {
    const meter = metrics.getMeter('@agentlens/ingest');
    this.#bypassed = meter.createCounter('agentlens_ingest_decisions_bypassed', {
      description: 'Decisions the evaluator did not make, by reason and verdict',
    });
    this.#overQuota = meter.createCounter('agentlens_ingest_decisions_over_quota', {
      description: 'Questions that were blocked because their key asks more often than it may',
    });
    this.#answered = meter.createHistogram('agentlens_ingest_decision_duration_seconds', {
      description: 'Time a question about a call took at the gateway, by verdict',
      unit: 's',
      advice: { explicitBucketBoundaries: [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 2] },
    });
  }

  bypassed(why: 'unavailable' | 'error', verdict: 'ALLOW' | 'BLOCK'): void {
    this.#bypassed.add(1, { why, verdict });
  }

  overQuota(): void {
    this.#overQuota.add(1);
  }

  answered(seconds: number, verdict: 'ALLOW' | 'BLOCK'): void {
    this.#answered.record(seconds, { verdict });
  }
}
