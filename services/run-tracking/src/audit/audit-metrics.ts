import { metrics } from '@opentelemetry/api';
import type { AuditStatus } from './audit-ledger.ts';

/** With more tenants only the sum is reported. */
const MAX_TENANTS = 20;

/** Metrics of the audit. All replicas report the same, from the ledger. */
export class AuditMetrics {
  readonly #compared;
  readonly #unread;
  #standing: (AuditStatus & { readonly at: number }) | undefined;

  constructor(private readonly now: () => number) {
    const meter = metrics.getMeter('@agentlens/run-tracking');
    this.#compared = meter.createCounter('agentlens.audit.events_compared', {
      description: 'Accepted events found stored and evaluated',
    });
    this.#unread = meter.createCounter('agentlens.audit.messages_lost', {
      description: 'Messages that expired from the stream before they were audited',
    });
    meter
      .createObservableGauge('agentlens.audit.difference', {
        description: 'Accepted events that are not stored, or not evaluated, a minute later',
      })
      .addCallback((result) => {
        for (const kind of ['not_stored', 'not_evaluated'] as const) {
          if (this.#standing !== undefined) result.observe(sumOf(this.#standing, kind), { kind });
        }
      });
    meter
      .createObservableGauge('agentlens.audit.tenant_difference', {
        description: 'Missing events by tenant, of at most twenty tenants',
      })
      .addCallback((result) => {
        for (const { tenantId, notStored, notEvaluated } of this.#standing?.tenants.slice(0, MAX_TENANTS) ?? []) {
          result.observe(notStored, { tenant: tenantId, kind: 'not_stored' });
          result.observe(notEvaluated, { tenant: tenantId, kind: 'not_evaluated' });
        }
      });
    meter
      .createObservableGauge('agentlens.audit.age', {
        description: 'Time since the last completed comparison',
        unit: 'ms',
      })
      .addCallback((result) => {
        const ageMs = this.ageMs();
        if (ageMs !== undefined) result.observe(ageMs);
      });
  }

  stands(standing: AuditStatus): void {
    this.#standing = { ...standing, at: this.now() };
  }

  compared(events: number): void {
    this.#compared.add(events);
  }

  lost(messages: number): void {
    this.#unread.add(messages);
  }

  /** Undefined before the first comparison. */
  ageMs(): number | undefined {
    return this.#standing === undefined ? undefined : this.#standing.ageMs + this.now() - this.#standing.at;
  }

  /** For `/readyz`. */
  detail(): object {
    const { minutes = 0 } = this.#standing ?? {};
    const of = (kind: Kind) => (this.#standing === undefined ? null : sumOf(this.#standing, kind));
    const [notStored, notEvaluated] = [of('not_stored'), of('not_evaluated')];
    const ageMs = this.ageMs();
    return {
      ageMs: ageMs === undefined ? null : Math.round(ageMs),
      notStored,
      notEvaluated,
      minutesDiffering: minutes,
    };
  }
}

type Kind = 'not_stored' | 'not_evaluated';

function sumOf({ tenants }: AuditStatus, kind: Kind): number {
  return tenants.reduce((sum, one) => sum + (kind === 'not_stored' ? one.notStored : one.notEvaluated), 0);
}
