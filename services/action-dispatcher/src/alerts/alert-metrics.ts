import type { Alert } from '@agentlens/contracts';
import type { AlertRaised } from '@agentlens/guardrails';
import { metrics } from '@opentelemetry/api';

/** Approvals that nobody has decided about. */
export interface Waiting {
  readonly approvals: number;
  readonly oldestMs: number;
}

/** Labels are closed sets, so the number of series is bounded. */
export class AlertMetrics {
  readonly #meter = metrics.getMeter('@agentlens/action-dispatcher');
  readonly #raised = this.#meter.createCounter('agentlens.alerts', {
    description: 'Alerts by kind, and whether they were raised, folded into an open one or held back.',
  });
  readonly #ended = this.#meter.createCounter('agentlens.alerts.decided', {
    description: 'Alerts that reached an end, by kind and status; "expired" is nobody.',
  });
  readonly #used = this.#meter.createCounter('agentlens.approvals.used', {
    description: 'Approvals a call went ahead with.',
  });
  readonly #patience = this.#meter.createHistogram('agentlens.approvals.decision_time', {
    description: 'From the opening of an approval to the decision of a human.',
    unit: 'ms',
  });

  /** @param waiting of all tenants, as any replica sees it; undefined while nobody has looked */
  observe(waiting: () => Waiting | undefined): void {
    const count = this.#meter.createObservableGauge('agentlens.approvals.waiting', {
      description: 'Calls that wait for a human, of all tenants.',
    });
    const oldest = this.#meter.createObservableGauge('agentlens.approvals.oldest_age', {
      description: 'How long the call has been waiting that waits longest for a human.',
      unit: 'ms',
    });
    count.addCallback((result) => {
      const seen = waiting();
      if (seen !== undefined) result.observe(seen.approvals);
    });
    oldest.addCallback((result) => {
      const seen = waiting();
      if (seen !== undefined) result.observe(seen.oldestMs);
    });
  }

  raised(kind: Alert['kind'], outcome: AlertRaised): void {
    this.#raised.add(1, { kind, outcome });
  }

  ended({ kind, status, createdAt, decidedAt, decidedBy }: Alert): void {
    this.#ended.add(1, { kind, status });
    if (kind !== 'approval' || decidedBy === undefined || decidedAt === undefined) return;
    this.#patience.record(Date.parse(decidedAt) - Date.parse(createdAt), { status });
  }

  used(): void {
    this.#used.add(1);
  }
}
