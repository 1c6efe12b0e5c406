import type { CallTest, ConditionModule, EventCondition } from '../catalog/condition-module.ts';
import { meets, withoutNoise } from '../catalog/threshold.ts';

/** A condition with its config, ready to be asked about calls; null: it cannot be. */
export function callTest(condition: ConditionModule, config: unknown): CallTest | null {
  if (condition.cadence === 'call') return condition.ready(config);
  return condition.cadence === 'event' ? gate(condition, config) : null;
}

/** A condition on events asked about a call: its series as they stand, held against its threshold. */
function gate(condition: EventCondition<unknown>, config: unknown): CallTest | null {
  const { seriesAt } = condition;
  if (seriesAt === undefined) return null;
  const threshold = condition.threshold(config);
  return {
    feeds: [{ kinds: condition.listensTo(config), series: (event) => condition.series(config, event) }],
    needs: ({ runId, receivedAt }) => ({ series: seriesAt(config, { runId, nowMs: Date.parse(receivedAt) }) }),
    matches({ request, before }) {
      const totals = seriesAt(config, { runId: request.runId, nowMs: Date.parse(request.receivedAt) }).map(before);
      if (totals.includes(null)) return 'unavailable';
      const value = condition.measure(
        config,
        totals.filter((one) => one !== null),
      );
      return value === null || !Number.isFinite(value) ? 'missing' : meets(withoutNoise(value), threshold);
    },
  };
}
