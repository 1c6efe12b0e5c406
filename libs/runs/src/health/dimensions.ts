import type { RollupSums } from './daily-rollup.ts';

export const DIMENSION_NAMES = ['error_rate', 'cost_efficiency', 'tool_success', 'latency', 'completion_rate'] as const;
export type DimensionName = (typeof DIMENSION_NAMES)[number];

export type HealthWeights = Readonly<Record<DimensionName, number>>;

/** Shares of the score; they add up to 1. */
export const DEFAULT_WEIGHTS: HealthWeights = {
  error_rate: 0.3,
  cost_efficiency: 0.2,
  tool_success: 0.2,
  latency: 0.15,
  completion_rate: 0.15,
};

interface Reading {
  /** 0 (bad) to 100 (good). */
  readonly score: number;
  readonly rawValue: number;
  readonly description: string;
}

type Measure = (window: RollupSums, baseline: RollupSums) => Reading;

/** The five ways to look at an agent. `window` holds at least one run; `baseline` may be empty. */
export const MEASURES: Readonly<Record<DimensionName, Measure>> = {
  error_rate: (window) => {
    const share = window.failedRuns / window.runs;
    return {
      score: clamp(100 * (1 - share)),
      rawValue: share,
      description: `${percent(share)} of sessions had errors`,
    };
  },
  cost_efficiency: (window, baseline) => {
    const average = window.runCostUsd / window.runs;
    const usual = baseline.runs === 0 ? 0 : baseline.runCostUsd / baseline.runs;
    const score = usual === 0 ? 100 : clamp(100 - (average / usual - 1) * 100);
    return { score, rawValue: average, description: `$${average.toFixed(4)} per session, ${against('$', usual, 4)}` };
  },
  tool_success: (window) => {
    const share = window.toolCalls === 0 ? 1 : Math.max(0, (window.toolCalls - window.toolErrors) / window.toolCalls);
    const description =
      window.toolCalls === 0 ? 'no tool calls' : `${percent(share)} of ${window.toolCalls} tool calls succeeded`;
    return { score: clamp(100 * share), rawValue: share, description };
  },
  latency: (window, baseline) => {
    const average = window.runDurationMs / window.runs;
    const usual = baseline.runs === 0 ? 0 : baseline.runDurationMs / baseline.runs;
    const score = usual === 0 ? 100 : clamp(100 - (average / usual - 1) * 50);
    return { score, rawValue: average, description: `${Math.round(average)} ms per session, ${against('', usual, 0)}` };
  },
  completion_rate: (window) => {
    const share = window.completedRuns / window.runs;
    return { score: clamp(100 * share), rawValue: share, description: `${percent(share)} of sessions completed` };
  },
};

function clamp(score: number): number {
  return Math.min(100, Math.max(0, score));
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}

function against(unit: string, usual: number, digits: number): string {
  return usual === 0 ? 'no baseline yet' : `usually ${unit}${usual.toFixed(digits)}`;
}
