import type { DecisionRequest } from '@agentlens/contracts';
import type { CallTest, ConditionModule, EventCondition } from '../catalog/condition-module.ts';
import { meetsWithoutNoise } from '../catalog/threshold.ts';
import { RunningTotals } from '../windows/series-totals.ts';

/** A condition with its config, ready to be asked about calls; null: it cannot be. */
export function callTest(condition: ConditionModule, config: unknown): CallTest | null {
  if (condition.cadence === 'call') return condition.ready(config);
  return condition.cadence === 'event' ? gate(condition, config) : null;
}

/** A condition on events asked about a call: its series as they stand, held against its threshold. */
function gate(condition: EventCondition<unknown>, config: unknown): CallTest | null {
  if (!condition.phases.includes('decision')) return null;
  const threshold = condition.threshold(config);
  const { series, seriesAt, measure } = condition.ready(config);
  const seriesFor = ({ runId, receivedAt }: DecisionRequest) =>
    seriesAt?.({ runId, nowMs: Date.parse(receivedAt) }) ?? [];
  return {
    feeds: [{ kinds: condition.listensTo(config), series }],
    needs: (request) => ({ series: seriesFor(request) }),
    matches({ request, before }) {
      const totals = seriesFor(request).map(before);
      if (totals.includes(null)) return 'unavailable';
      const value = measure(totals.filter((one) => one !== null).map((one) => new RunningTotals(one)));
      return value === null || !Number.isFinite(value) ? 'missing' : meetsWithoutNoise(value, threshold);
    },
  };
}
