import { z } from 'zod';
import type { EventCondition } from '../../catalog/condition-module.ts';
import { sameCallMetric } from '../../windows/metrics.ts';

const SameCallConfig = z.strictObject({
  times: z.int().min(2).max(1000).default(3).meta({ title: 'Made', unit: 'times' }),
});
type SameCallConfig = z.infer<typeof SameCallConfig>;

/** Detects a loop from events: the same tool call with the same arguments several times in one run. */
export const sameCall: EventCondition<SameCallConfig> = {
  type: 'same_call',
  title: 'Same call in a run',
  description: 'One run made exactly this tool call, with these arguments, several times.',
  unit: 'calls',
  cadence: 'event',
  config: SameCallConfig,
  example: { times: 3 },
  phases: ['stream'],
  listensTo: () => ['tool.called', 'tool.completed'],
  ready: () => ({
    series(event) {
      const metric = sameCallMetric(event);
      return metric === null ? null : [{ metric, span: { kind: 'run', runId: event.runId }, shape: 'sum' }];
    },
    measure: ([totals]) => totals?.sum ?? null,
  }),
  threshold: ({ times }) => ({ operator: 'gte', value: times }),
  message: ({ times }, value) => `the same tool call was made ${value} times in one run, at least ${times} is a loop`,
};
