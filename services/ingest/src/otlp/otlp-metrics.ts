import type { SpanClass } from '@agentlens/otlp';
import { metrics } from '@opentelemetry/api';

/** OpenTelemetry metrics of the gateway. Does nothing without a telemetry SDK. */
export class OtlpMetrics {
  readonly #spans;
  readonly #rejected;
  readonly #undeduplicated;
  readonly #logs;
  readonly #refused;

  constructor() {
    const meter = metrics.getMeter('@agentlens/ingest');
    this.#spans = meter.createCounter('agentlens.ingest.otlp_spans', {
      description: 'Spans read, by kind; steps and foreign spans do not become events',
    });
    this.#rejected = meter.createCounter('agentlens.ingest.otlp_rejected', {
      description: 'Spans and log records rejected in a partial success',
    });
    this.#undeduplicated = meter.createCounter('agentlens.ingest.otlp_undeduplicated', {
      description: 'Model calls not compared with earlier ones because the state store was unavailable',
    });
    this.#logs = meter.createCounter('agentlens.ingest.otlp_log_records', {
      description: 'Log records read, by whether they became events',
    });
    this.#refused = meter.createCounter('agentlens.ingest.otlp_refused', {
      description: 'Rejected requests, by signal and status',
    });
  }

  spans(counts: ReadonlyMap<SpanClass, number>): void {
    for (const [is, count] of counts) this.#spans.add(count, { class: is });
  }

  rejected(signal: string, count: number): void {
    if (count > 0) this.#rejected.add(count, { signal });
  }

  undeduplicated(count: number): void {
    this.#undeduplicated.add(count);
  }

  logs(kept: number, dropped: number): void {
    this.#logs.add(kept, { kept: true });
    this.#logs.add(dropped, { kept: false });
  }

  refused(signal: string, status: number): void {
    this.#refused.add(1, { signal, status });
  }
}
