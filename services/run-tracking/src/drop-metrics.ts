import { metrics } from '@opentelemetry/api';

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
