import { describe, expect, it } from '@jest/globals';
import { GreatestDepths, queuesIn } from './queue-watch.ts';

const METRICS = `# HELP agentlens_queue_size What waits
# TYPE agentlens_queue_size gauge
agentlens_queue_size{queue="rule_states",otel_scope_name="@agentlens/messaging"} 60
agentlens_queue_size{otel_scope_name="@agentlens/messaging",queue="decisions"} 2
agentlens_queue_capacity{queue="rule_states"} 50000
agentlens_queue_capacity{queue="decisions"} 10000 1700000000000
agentlens_bus_consumer_lag{group="run-tracking"} 7
`;

describe('queues in the metrics of a process', () => {
  it('are read with their capacities', () => {
    expect(queuesIn(METRICS)).toEqual([
      { queue: 'rule_states', size: 60, capacity: 50_000 },
      { queue: 'decisions', size: 2, capacity: 10_000 },
    ]);
  });

  it('are recorded at their maximum depth', () => {
    const depths = new GreatestDepths();
    for (const size of [3, 9, 4]) depths.note('ingest', [{ queue: 'q', size, capacity: 5 }]);
    depths.note('query', [{ queue: 'q', size: 0, capacity: 5 }]);
    expect(depths.all).toEqual([
      { queue: 'ingest: q', size: 9, capacity: 5 },
      { queue: 'query: q', size: 0, capacity: 5 },
    ]);
  });
});
