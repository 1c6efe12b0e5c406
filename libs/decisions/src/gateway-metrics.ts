import type { AskReason } from '@agentlens/contracts';
import { metrics } from '@opentelemetry/api';

/**
 * What the gateway drops besides events: a heartbeat of a run, a record of a bypass (the bypass is still counted), the
 * stream of a client that does not read (the client reconnects and gets what it missed).
 */
type GivenUpAnswer = 'heartbeat' | 'bypass_record' | 'control_stream';

/** Metrics of a gateway that answers questions about calls, named after its service. */
export class GatewayMetrics {
  readonly #bypassed;
  readonly #overQuota;
  readonly #odd;
  readonly #answered;
  readonly #dropped;
  readonly #decisions;
  readonly #differences;
  readonly #evictedBooks;

  /** @param service such as `ingest` */
  constructor(service: string) {
    const meter = metrics.getMeter(`@agentlens/${service}`);
    this.#bypassed = meter.createCounter(`agentlens_${service}_decisions_bypassed`, {
      description: 'Decisions that the evaluator did not make, by reason and verdict',
    });
    this.#overQuota = meter.createCounter(`agentlens_${service}_decisions_over_quota`, {
      description: 'Questions blocked because their key was over its question quota',
    });
    this.#odd = meter.createCounter(`agentlens_${service}_decisions_odd`, {
      description:
        'Questions under another identity than that of their run, or with tool names that imitate others, by kind',
    });
    this.#dropped = meter.createCounter(`agentlens_${service}_dropped`, {
      description: 'Dropped heartbeats, records of bypasses and control streams, by kind',
    });
    this.#decisions = meter.createCounter(`agentlens.${service}.decisions`, {
      description: 'Decisions by who made them (gateway, evaluator) and why: `known`, or why the evaluator was asked',
    });
    this.#differences = meter.createCounter(`agentlens.${service}.decision_differs`, {
      description: 'Sampled decisions that gateway and evaluator made differently',
    });
    this.#evictedBooks = meter.createCounter(`agentlens.${service}.books_evicted`, {
      description: 'Rule books of tenants that the gateway dropped because it holds too many',
    });
    this.#answered = meter.createHistogram(`agentlens_${service}_decision_duration_seconds`, {
      description: 'Time that a question about a call takes at the gateway, by verdict',
      unit: 's',
      advice: { explicitBucketBoundaries: [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 2] },
    });
  }

  bypassed(why: 'unavailable' | 'error', verdict: 'ALLOW' | 'BLOCK'): void {
    this.#bypassed.add(1, { why, verdict });
  }

  decidedBy(by: 'gateway' | 'evaluator', reason: 'known' | AskReason): void {
    this.#decisions.add(1, { by, reason });
  }

  differs(): void {
    this.#differences.add(1);
  }

  evictedBook(): void {
    this.#evictedBooks.add(1);
  }

  odd(what: 'other_identity' | 'mixed_scripts'): void {
    this.#odd.add(1, { what });
  }

  overQuota(): void {
    this.#overQuota.add(1);
  }

  dropped(what: GivenUpAnswer, count: number): void {
    this.#dropped.add(count, { what });
  }

  answered(seconds: number, verdict: 'ALLOW' | 'BLOCK'): void {
    this.#answered.record(seconds, { verdict });
  }
}
