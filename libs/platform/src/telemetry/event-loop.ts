import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Meter } from '@opentelemetry/api';

/** The probe wakes the process this often; what it comes later than that is the delay. */
const RESOLUTION_MS = 100;
const NANOS_PER_MS = 1_000_000;

/** How long work waits for this process's one thread, and how much of the time that thread is busy, between two scrapes. */
export function observeEventLoop(meter: Meter): void {
  const intervals = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  intervals.enable();
  meter
    .createObservableGauge('agentlens.process.event_loop_delay', {
      description: 'How much later than due timers ran, p99 since the last scrape',
      unit: 'ms',
    })
    .addCallback((result) => {
      result.observe(Math.max(0, intervals.percentile(99) / NANOS_PER_MS - RESOLUTION_MS));
      intervals.reset();
    });
  let before = performance.eventLoopUtilization();
  meter
    .createObservableGauge('agentlens.process.event_loop_utilization', {
      description: 'Share of the time since the last scrape that the event loop was busy, 0 to 1',
    })
    .addCallback((result) => {
      const now = performance.eventLoopUtilization();
      result.observe(performance.eventLoopUtilization(now, before).utilization);
      before = now;
    });
}
