import { metrics } from '@opentelemetry/api';

/** What the model gateway counts. Names of models and tenants are not labels: there can be any number of them. */
export class ModelCallMetrics {
  readonly #calls;
  readonly #fallbacks;
  readonly #firstByte;
  readonly #usage;

  constructor(open: () => number) {
    const meter = metrics.getMeter('@agentlens/model-gateway');
    this.#calls = meter.createCounter('agentlens.model_gateway.calls', {
      description: 'Model calls, by dialect of the connection and how they ended',
    });
    this.#fallbacks = meter.createCounter('agentlens.model_gateway.fallbacks', {
      description: 'Model calls that went to the fallback of their connection, by dialect and how they ended',
    });
    this.#firstByte = meter.createHistogram('agentlens.model_gateway.first_byte_seconds', {
      description: 'Time from the arrival of a call to the first byte of its answer',
      unit: 's',
      advice: { explicitBucketBoundaries: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300] },
    });
    this.#usage = meter.createCounter('agentlens.model_gateway.metered_calls', {
      description: 'Answers, by where their token counts come from',
    });
    meter
      .createObservableGauge('agentlens.model_gateway.open_calls', { description: 'Calls in progress' })
      .addCallback((result) => result.observe(open()));
  }

  ended(dialect: string, result: string): void {
    this.#calls.add(1, { dialect, result });
  }

  fellBack(dialect: string, result: string): void {
    this.#fallbacks.add(1, { dialect, result });
  }

  answered(dialect: string, firstByteMs: number): void {
    this.#firstByte.record(firstByteMs / 1000, { dialect });
  }

  metered(usageSource: string): void {
    this.#usage.add(1, { source: usageSource });
  }
}
