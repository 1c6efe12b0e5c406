import type { HarnessRule } from '../harness/rule-draft.ts';

/** Longer than any fault test except the soak, so that counts do not expire. */
export const WINDOW_MINUTES = 1_440;
/** Errors of an agent until its limit is reached. */
export const ERROR_LIMIT = 5;

export const RULE_NAMES = { marker: 'fault: marker', counter: 'fault: counter', limit: 'fault: limit' } as const;

/** Fires at each marker event and at no other: its triggers are exactly the accepted markers. */
export function markerRule(url: string): HarnessRule {
  return {
    name: RULE_NAMES.marker,
    conditionType: 'custom_metric',
    conditionConfig: { metricKeyPath: 'data.marker', operator: 'gt', value: 0, windowMinutes: 60, aggregate: 'last' },
    actionType: 'notify_webhook',
    actionConfig: { url },
    cooldownMinutes: 0,
  };
}

/** Never fires. Its reading is the evaluator's count for an agent. */
export function counterRule(url: string): HarnessRule {
  return {
    name: RULE_NAMES.counter,
    conditionType: 'custom_metric',
    conditionConfig: { metricName: 'event_count', operator: 'gt', value: 1e15, windowMinutes: WINDOW_MINUTES },
    actionType: 'notify_webhook',
    actionConfig: { url },
    cooldownMinutes: 15,
  };
}

/** Matches every event of an agent from its fifth error on. Because of its cooldown, only one trigger is effective. */
export function limitRule(url: string): HarnessRule {
  return {
    name: RULE_NAMES.limit,
    conditionType: 'custom_metric',
    conditionConfig: {
      metricName: 'error_count',
      operator: 'gte',
      value: ERROR_LIMIT,
      windowMinutes: WINDOW_MINUTES,
    },
    actionType: 'notify_webhook',
    actionConfig: { url },
    cooldownMinutes: 1_440,
  };
}
