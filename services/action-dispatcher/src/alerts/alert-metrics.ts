import type { Alert } from '@agentlens/contracts';
import type { AlertRaised } from '@agentlens/guardrails';
import { metrics } from '@opentelemetry/api';

export interface WaitingApprovals {
  readonly approvals: number;
  readonly oldestMs: number;
}

/** Labels are closed sets, so the number of series is bounded. */
export class AlertMetrics {
  readonly #meter = metrics.getMeter('@agentlens/action-dispatcher');
  readonly #raised = this.#meter.createCounter('agentlens.alerts', {
    description: 'Alerts by kind and outcome: raised, folded into an open alert, or held back.',
  });
  readonly #ended = this.#meter.createCounter('agentlens.alerts.decided', {
    description: 'Alerts that ended, by kind and status.',
  });
  readonly #used = this.#meter.createCounter('agentlens.approvals.used', {
    description: 'Approvals that a call used.',
  });
  readonly #patience = this.#meter.createHistogram('agentlens.approvals.decision_time', {
    description: 'Time from the request for an approval to its decision.',
    unit: 'ms',
  });

  #waiting: WaitingApprovals | undefined;

  constructor() {
    const count = this.#meter.createObservableGauge('agentlens.approvals.waiting', {
      description: 'Approvals that are pending, of all tenants.',
    });
    const oldest = this.#meter.createObservableGauge('agentlens.approvals.oldest_age', {
      description: 'Age of the oldest pending approval.',
      unit: 'ms',
    });
    count.addCallback((result) => {
      if (this.#waiting !== undefined) result.observe(this.#waiting.approvals);
    });
    oldest.addCallback((result) => {
      if (this.#waiting !== undefined) result.observe(this.#waiting.oldestMs);
    });
  }

  /** @param waiting pending approvals of all tenants, which every replica reports */
  observed(waiting: WaitingApprovals): void {
    this.#waiting = waiting;
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
