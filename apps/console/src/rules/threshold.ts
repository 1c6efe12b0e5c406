import type { Rule } from '../api/model.ts';

/** What a rule's value is compared with, where its config says it as one number. */
export function thresholdOf({
  conditionType,
  conditionConfig,
}: Pick<Rule, 'conditionType' | 'conditionConfig'>): { readonly value: number; readonly unit: string } | undefined {
  const [name, unit] = NUMBERS[conditionType] ?? [];
  const value = name === undefined ? undefined : conditionConfig[name];
  return typeof value === 'number' && unit !== undefined ? { value, unit } : undefined;
}

const NUMBERS: Readonly<Record<string, readonly [string, string]>> = {
  error_rate_threshold: ['threshold', '%'],
  cost_limit: ['maxCostUsd', 'USD'],
  health_score_threshold: ['minScore', ''],
  custom_metric: ['value', ''],
};
