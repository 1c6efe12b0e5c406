import { type Histogram, metrics } from '@opentelemetry/api';

/** How a call ended: answered, to be repeated later, or refused for a reason that will not pass. */
type CallOutcome = 'answered' | 'unavailable' | 'failed';

const BOUNDARIES_MS = [0.25, 0.5, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];

// Made at the first call: an instrument made before telemetry has started would record nothing, for good.
let duration: Histogram | undefined;

/** Records one call to Redis that began at `sinceMs` of performance.now(). */
export function measured(operation: string, outcome: CallOutcome, sinceMs: number): void {
  duration ??= metrics.getMeter('agentlens').createHistogram('agentlens.state.call.duration', {
    description: 'Time from asking Redis to its answer, by operation and outcome',
    unit: 'ms',
    advice: { explicitBucketBoundaries: BOUNDARIES_MS },
  });
  duration.record(performance.now() - sinceMs, { operation, outcome });
}
