import { type Attributes, createNoopMeter, type Meter, metrics, type ObservableCallback } from '@opentelemetry/api';

/** Values of instruments created since `recordMeters` was called. */
export interface RecordedMeters {
  /** Total of a counter; with labels, the total of records that have all of them. */
  total(counter: string, labels?: Attributes): number;
  /** Current value of a gauge; undefined if it reports none. */
  gauge(name: string): number | undefined;
  /** Restores the process's meters. */
  stop(): void;
}

/** Replaces the telemetry SDK for instruments created from now on. Gauges with labels report their last value. */
export function recordMeters(): RecordedMeters {
  const records: { readonly counter: string; readonly count: number; readonly labels: Attributes }[] = [];
  const callbacks = new Map<string, Set<ObservableCallback>>();
  const own = {
    createCounter: (counter: string) => ({
      add: (count: number, labels: Attributes = {}) => void records.push({ counter, count, labels }),
    }),
    createObservableGauge: (name: string) => {
      const known = callbacks.get(name) ?? new Set();
      callbacks.set(name, known);
      return {
        addCallback: (callback: ObservableCallback) => void known.add(callback),
        removeCallback: (callback: ObservableCallback) => void known.delete(callback),
      };
    },
  };
  const meter = Object.assign(Object.create(createNoopMeter()), own) as Meter;
  metrics.setGlobalMeterProvider({ getMeter: () => meter });
  return {
    total: (name, labels = {}) =>
      records
        .filter((one) => one.counter === name && Object.entries(labels).every(([key, is]) => one.labels[key] === is))
        .reduce((sum, { count }) => sum + count, 0),
    gauge: (name) => {
      let shown: number | undefined;
      for (const callback of callbacks.get(name) ?? []) void callback({ observe: (value) => (shown = value) });
      return shown;
    },
    stop: () => metrics.disable(),
  };
}
