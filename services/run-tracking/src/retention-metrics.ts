import { type Counter, metrics } from '@opentelemetry/api';

/** What was let go of because it was past retention. */
export class RetentionMetrics {
  readonly #rows: Counter;
  readonly #partitions: Counter;
  readonly #contents: Counter;

  constructor() {
    const meter = metrics.getMeter('@agentlens/run-tracking');
    this.#rows = meter.createCounter('agentlens.retention.rows', {
      description: 'Rows removed because they were past retention, by table',
    });
    this.#partitions = meter.createCounter('agentlens.retention.partitions', {
      description: 'Partitions dropped because they were past retention, by table',
    });
    this.#contents = meter.createCounter('agentlens.retention.contents', {
      description: 'Rows whose contents were removed because they were past the retention of contents, by table',
    });
  }

  rows(table: string, count: number): void {
    if (count > 0) this.#rows.add(count, { table });
  }

  contents(table: string, count: number): void {
    if (count > 0) this.#contents.add(count, { table });
  }

  partitions(table: string, count: number): void {
    if (count > 0) this.#partitions.add(count, { table });
  }
}
