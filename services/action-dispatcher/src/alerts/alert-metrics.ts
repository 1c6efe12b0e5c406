import type { Alert } from '@agentlens/contracts';
import type { AlertRaised } from '@agentlens/guardrails';
import { metrics } from '@opentelemetry/api';

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
