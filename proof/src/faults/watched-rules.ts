import type { HarnessRule } from '../harness/rule-draft.ts';

/** Longer than any fault test but the soak, so that what is counted stays counted. */
export const WINDOW_MINUTES = 1_440;
/** Errors of an agent until its limit is met. */
export const ERROR_LIMIT = 5;

export const RULE_NAMES = { marker: 'fault: marker', counter: 'fault: counter', limit: 'fault: limit' } as const;

/** Fires at each marker event and at no other: the set of its triggers is the set of accepted markers. */
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

/** Never fires; its reading is what the evaluator counted of an agent. */
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

/** Met at every event of an agent from its fifth error on, and, by its cooldown, effective once. */
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
