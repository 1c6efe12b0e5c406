import { type Attributes, createNoopMeter, type Meter, metrics, type ObservableCallback } from '@opentelemetry/api';

/** What the instruments say that were made since. */
export interface HeardMeters {
  /** What a counter was told altogether; with labels, only what was told under all of them. */
  total(counter: string, labels?: Attributes): number;
  /** What a gauge shows now; undefined where it shows nothing. */
  gauge(name: string): number | undefined;
  /** Lets go of the meters of this process. */
  stop(): void;
}

/** Takes the place of a telemetry SDK, for instruments made from now on. Gauges with labels show their last value. */
export function hearMeters(): HeardMeters {
  const told: { readonly counter: string; readonly count: number; readonly labels: Attributes }[] = [];
  const callbacks = new Map<string, Set<ObservableCallback>>();
  const own = {
    createCounter: (counter: string) => ({
      add: (count: number, labels: Attributes = {}) => void told.push({ counter, count, labels }),
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
      told
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
