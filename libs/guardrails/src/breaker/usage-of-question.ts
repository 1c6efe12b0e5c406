import type { DecisionRequest } from '@agentlens/contracts';
import type { AskedUsage } from '../ports/breaker-store.ts';

/** Usage of model calls that a question reports, which counts for the breakers of its run; null if it reports none. */
export function usageOfQuestion({ metrics }: Pick<DecisionRequest, 'metrics'>): AskedUsage | null {
  const tokens = amount(metrics.llm_tokens_in) + amount(metrics.llm_tokens_out);
  const costUsd = amount(metrics.llm_cost_usd);
  return tokens > 0 || costUsd > 0 ? { tokens, costUsd, iterations: 0 } : null;
}

function amount(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) && value > 0 ? value : 0;
}
