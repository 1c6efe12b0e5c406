import type { AgentEvent, DecisionRequest } from '@agentlens/contracts';
import type { AskedUsage } from '../ports/breaker-store.ts';
import type { CallUsage } from './breaker.ts';

/**
 * Usage that an event reports, or null if it reports nothing a breaker counts. Tokens and iterations come from
 * completed model calls; cost is counted on every event that reports it. A call that completed with an error is a
 * failure, and so is an error that belongs to no tool call.
 */
export function usageOfEvent(event: AgentEvent): CallUsage | null {
  const { kind, usage, isError, toolName } = event;
  const completed = kind === 'llm.completed' || kind === 'tool.completed';
  const failed = completed || (kind === 'error.raised' && toolName === undefined);
  const confidence = confidenceOf(event);
  const used: CallUsage = {
    ...(completed ? { of: kind === 'llm.completed' ? 'llm' : 'tool' } : {}),
    ...(kind === 'llm.completed' ? { iterations: 1, tokens: tokensOf(usage) } : {}),
    ...(usage?.costUsd === undefined ? {} : { costUsd: usage.costUsd }),
    ...(isError && failed ? { outcome: 'failure' as const } : completed ? { outcome: 'success' as const } : {}),
    ...(confidence === undefined ? {} : { confidence }),
  };
  return Object.keys(used).length === 0 ? null : used;
}

function tokensOf(usage: AgentEvent['usage']): number {
  return usage?.totalTokens ?? (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
}

/** The agent's own confidence, if reported. */
function confidenceOf({ payload, metadata }: AgentEvent): number | undefined {
  const reported = payload.confidence ?? metadata.confidence;
  return typeof reported === 'number' ? reported : undefined;
}

/** Usage of model calls that a question reports, which counts for the breakers of its run; null if it reports none. */
export function usageOfQuestion({ metrics }: Pick<DecisionRequest, 'metrics'>): AskedUsage | null {
  const tokens = amount(metrics.llm_tokens_in) + amount(metrics.llm_tokens_out);
  const costUsd = amount(metrics.llm_cost_usd);
  return tokens > 0 || costUsd > 0 ? { tokens, costUsd, iterations: 0 } : null;
}

function amount(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) && value > 0 ? value : 0;
}
