import { metrics } from '@opentelemetry/api';

/** Something that waits inside a process, and how much of it may. */
interface BoundedQueue {
  /** In snake_case, its unit in the name; one of a closed set, as it becomes a label. */
  readonly name: string;
  readonly capacity: number;
  readonly size: () => number;
}

/** Shows a queue's size beside its capacity, until the returned function is called. */
export function observeQueue({ name: queue, capacity, size }: BoundedQueue): () => void {
  const meter = metrics.getMeter('@agentlens/messaging');
  const sizes = meter.createObservableGauge('agentlens.queue.size', {
    description: 'What waits in a queue inside this process',
  });
  const capacities = meter.createObservableGauge('agentlens.queue.capacity', {
    description:
      'What a queue inside this process may hold; beyond it things are refused, dropped and counted, or left where they are',
  });
  const observe = [
    [sizes, size],
    [capacities, () => capacity],
  ] as const;
  const callbacks = observe.map(([gauge, read]) => {
    const callback: Parameters<typeof gauge.addCallback>[0] = (result) => result.observe(read(), { queue });
    gauge.addCallback(callback);
    return () => gauge.removeCallback(callback);
  });
  return () => {
    for (const stop of callbacks) stop();
  };
}
