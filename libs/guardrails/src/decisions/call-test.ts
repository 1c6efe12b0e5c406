import type { DecisionRequest } from '@agentlens/contracts';
import type { CallPart, CallTest, ConditionModule, EventCondition } from '../catalog/condition-module.ts';
import { meetsWithoutNoise } from '../catalog/threshold.ts';
import { RunningTotals } from '../windows/totals.ts';
import { numberTest } from './answer.ts';
import type { CallFacts } from './facts.ts';

/** Prepares a condition with its config for calls. Returns null if the condition does not support calls. */
export function callTest(condition: ConditionModule, config: unknown): CallTest | null {
  if (condition.cadence === 'call') return wary(condition.ready(config));
  return condition.cadence === 'event' ? gate(condition, config) : null;
}

/** Wraps a test so that it does not mistake truncated data for absent data. */
function wary(test: CallTest): CallTest {
  const { reads, certain } = test;
  if (certain === 'always' || !(reads.includes('args') || reads.includes('result'))) return test;
  return {
    ...test,
    matches(facts) {
      const answer = test.matches(facts);
      if (typeof answer !== 'boolean' || !isUnread(facts.request, reads)) return answer;
      return answer && certain === 'yes' ? answer : 'missing';
    },
  };
}

function isUnread({ unread }: DecisionRequest, reads: readonly CallPart[]): boolean {
  if (unread === undefined) return false;
  return (
    (unread.args !== undefined && reads.includes('args')) || (unread.result !== undefined && reads.includes('result'))
  );
}

/** Evaluates an event condition for a call: compares its series as they stand with its threshold. */
function gate(condition: EventCondition<unknown>, config: unknown): CallTest | null {
  if (!condition.phases.includes('decision')) return null;
  const threshold = condition.threshold(config);
  const { series, seriesAt, measure } = condition.ready(config);
  const seriesFor = ({ runId, receivedAt }: DecisionRequest) =>
    seriesAt?.({ runId, nowMs: Date.parse(receivedAt) }) ?? [];
  const measuredIn = ({ request, before }: CallFacts): number | 'missing' | 'unavailable' => {
    const totals = seriesFor(request).map(before);
    if (totals.includes(null)) return 'unavailable';
    const value = measure(totals.filter((one) => one !== null).map((one) => new RunningTotals(one)));
    return value === null || !Number.isFinite(value) ? 'missing' : value;
  };
  return {
    reads: [],
    feeds: [{ kinds: condition.listensTo(config), series }],
    needs: (request) => ({ series: seriesFor(request) }),
    ...numberTest(measuredIn, threshold.value, (value) => meetsWithoutNoise(value, threshold)),
  };
}
