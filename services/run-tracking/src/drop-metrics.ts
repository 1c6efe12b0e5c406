import { metrics } from '@opentelemetry/api';

/** A run's sign of life that was not written down, and word of a changed run that reached nobody. */
type DroppedByTracking = 'heartbeat' | 'run_change';

/** What this service lets go of because something better will follow: the next heartbeat, the next change, a poll. */
export class TrackingDropMetrics {
  readonly #dropped;

  constructor() {
    this.#dropped = metrics.getMeter('@agentlens/run-tracking').createCounter('agentlens.runs.dropped', {
      description: 'Heartbeats not written down and changes of runs not announced, by what it was',
    });
  }

  dropped(what: DroppedByTracking, count: number): void {
    this.#dropped.add(count, { what });
  }
}
