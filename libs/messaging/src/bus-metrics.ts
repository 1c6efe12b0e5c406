import { type BatchObservableCallback, metrics } from '@opentelemetry/api';
import type { ConsumerLag } from './event-bus.ts';

/** Counters and gauges of one bus. Labels are topic and group: both are closed sets, so cardinality is bounded. */
export class BusMetrics {
  private readonly meter = metrics.getMeter('@agentlens/messaging');
  private readonly publishes = this.meter.createCounter('agentlens.bus.published', {
    description: 'Messages the bus accepted; "duplicate" were known already and stored once.',
  });
  private readonly refusals = this.meter.createCounter('agentlens.bus.refused', {
    description: 'Publishes answered with BusUnavailable.',
  });
  private readonly deliveries = this.meter.createCounter('agentlens.bus.delivered', {
    description: 'Messages handed to a handler, redeliveries included.',
  });
  private readonly retries = this.meter.createCounter('agentlens.bus.retried', {
    description: 'Messages a handler asked for again, or threw on.',
  });
  private readonly burials = this.meter.createCounter('agentlens.bus.dead_lettered', {
    description: 'Messages given up and kept as dead letters.',
  });
  private readonly lag = this.meter.createObservableGauge('agentlens.bus.consumer.lag', {
    description: 'Messages a group has not settled yet.',
    unit: '{message}',
  });
  private readonly age = this.meter.createObservableGauge('agentlens.bus.consumer.oldest_age', {
    description: 'Age of the oldest message a group has not settled.',
    unit: 'ms',
  });
  private readonly observed = new Map<string, { sharers: number; readonly stop: () => void }>();

  published(topic: string, duplicate: boolean): void {
    this.publishes.add(1, { topic, duplicate });
  }

  refused(topic: string): void {
    this.refusals.add(1, { topic });
  }

  delivered(topic: string, group: string, count: number): void {
    this.deliveries.add(count, { topic, group });
  }

  retried(topic: string, group: string): void {
    this.retries.add(1, { topic, group });
  }

  deadLettered(topic: string, group: string): void {
    this.burials.add(1, { topic, group });
  }

  /** Observes a group's lag until the returned function is called; several replicas of one bus observe it once. */
  observeLag(topic: string, group: string, read: () => Promise<ConsumerLag>): () => void {
    const key = `${topic}\n${group}`;
    const gauge = this.observed.get(key) ?? { sharers: 0, stop: this.startObserving(topic, group, read) };
    gauge.sharers += 1;
    this.observed.set(key, gauge);
    return () => {
      gauge.sharers -= 1;
      if (gauge.sharers > 0) return;
      gauge.stop();
      this.observed.delete(key);
    };
  }

  /** A closed bus is observed no more. */
  close(): void {
    for (const { stop } of this.observed.values()) stop();
    this.observed.clear();
  }

  private startObserving(topic: string, group: string, read: () => Promise<ConsumerLag>): () => void {
    const gauges = [this.lag, this.age];
    const observe: BatchObservableCallback = async (result) => {
      const now = await read().catch(() => undefined);
      if (!now) return;
      result.observe(this.lag, now.pending + now.unacknowledged, { topic, group });
      result.observe(this.age, now.oldestAgeMs, { topic, group });
    };
    this.meter.addBatchObservableCallback(observe, gauges);
    return () => this.meter.removeBatchObservableCallback(observe, gauges);
  }
}
