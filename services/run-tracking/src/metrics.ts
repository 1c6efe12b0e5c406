import { type Counter, metrics } from '@opentelemetry/api';

/** A run's sign of life that was not written down, word of a changed run that reached nobody, what came of a deleted run. */
type DroppedByTracking = 'heartbeat' | 'run_change' | 'event_of_deleted_run';

/** What this service lets go of: something better will follow (the next heartbeat, change, poll), or its run was deleted. */
export class TrackingDropMetrics {
  readonly #dropped;

  constructor() {
    this.#dropped = metrics.getMeter('@agentlens/run-tracking').createCounter('agentlens.runs.dropped', {
      description:
        'Heartbeats not written down, changes of runs not announced, what came of deleted runs; by what it was',
    });
  }

  dropped(what: DroppedByTracking, count: number): void {
    if (count > 0) this.#dropped.add(count, { what });
  }
}

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
