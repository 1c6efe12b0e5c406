import type { RunDetail } from '../api/model.ts';

type Totals = Pick<RunDetail['totals'], 'costUsd' | 'llmCalls' | 'toolCalls' | 'totalTokens' | 'unpricedCalls'>;

/** Why a figure of a run is not a number: the model has no price, or the agent's host does not tell. */
export type Unknown = 'no price' | 'not reported';

export interface ReportedUsage {
  readonly cost: number | Unknown;
  readonly tokens: number | Unknown;
  readonly modelCalls: number | Unknown;
}

/** A limit that no run reaches, as `agentlens guard setup` sets it: it stands for none. */
const MIN_UNREACHABLE = 1_000_000_000;

/**
 * What is known of a run's model calls. A run that calls tools and reports no model call, such as that of a coding agent
 * whose host keeps its usage to itself, did not cost nothing.
 */
export function readUsage({ costUsd, llmCalls, toolCalls, totalTokens, unpricedCalls }: Totals): ReportedUsage {
  const usage = totalTokens > 0 || costUsd > 0;
  const silent = toolCalls > 0 && llmCalls === 0 && !usage;
  const known = (value: number) => (silent ? 'not reported' : value);
  return {
    cost: costUsd === 0 && unpricedCalls > 0 ? 'no price' : known(costUsd),
    tokens: known(totalTokens),
    // Tokens without calls: the host sums them up.
    modelCalls: llmCalls === 0 && usage ? 'not reported' : known(llmCalls),
  };
}

/** The limit to compare with, if the value is known and the limit can be reached. */
export function readLimit(value: number | Unknown, limit: number | undefined): number | undefined {
  return typeof value === 'number' && limit !== undefined && limit < MIN_UNREACHABLE ? limit : undefined;
}
