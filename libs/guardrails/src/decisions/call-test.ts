import type { DecisionRequest } from '@agentlens/contracts';
import type { CallTest, ConditionModule, EventCondition } from '../catalog/condition-module.ts';
import { meets, withoutNoise } from '../catalog/threshold.ts';

/** A condition with its config, ready to be asked about calls; null: it cannot be. */
export function callTest(condition: ConditionModule, config: unknown): CallTest | null {
  if (condition.cadence === 'call') return condition.ready(config);
  return condition.cadence === 'event' ? gate(condition, config) : null;
}

/** A condition on events asked about a call: its series as they stand, held against its threshold. */
function gate(condition: EventCondition<unknown>, config: unknown): CallTest | null {
  if (!condition.phases.includes('decision')) return null;
  const threshold = condition.threshold(config);
  const seriesFor = ({ runId, receivedAt }: DecisionRequest) =>
    condition.seriesAt?.(config, { runId, nowMs: Date.parse(receivedAt) }) ?? [];
  return {
    feeds: [{ kinds: condition.listensTo(config), series: (event) => condition.series(config, event) }],
    needs: (request) => ({ series: seriesFor(request) }),
    matches({ request, before }) {
      const totals = seriesFor(request).map(before);
      if (totals.includes(null)) return 'unavailable';
      const value = condition.measure(
        config,
        totals.filter((one) => one !== null),
      );
      return value === null || !Number.isFinite(value) ? 'missing' : meets(withoutNoise(value), threshold);
    },
  };
}
