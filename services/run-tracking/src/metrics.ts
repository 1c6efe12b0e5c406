import { type Counter, metrics } from '@opentelemetry/api';

/**
 * What was dropped: a heartbeat that was not recorded, a change notification that was not published, an event of a
 * deleted run.
 */
type DroppedByTracking = 'heartbeat' | 'run_change' | 'event_of_deleted_run';

/**
 * Counts dropped messages. Each is replaced by a later one (the next heartbeat, change or poll), or its run was
 * deleted.
 */
export class TrackingDropMetrics {
  readonly #dropped;

  constructor() {
    this.#dropped = metrics.getMeter('@agentlens/run-tracking').createCounter('agentlens.runs.dropped', {
      description: 'Heartbeats and change notifications that were dropped, and events of deleted runs, by kind',
    });
  }

  dropped(what: DroppedByTracking, count: number): void {
    if (count > 0) this.#dropped.add(count, { what });
  }
}

/** Counts what retention removed. */
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
      description: 'Rows whose contents were removed past the retention of contents, by table',
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
