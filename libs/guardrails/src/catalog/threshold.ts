import type { Comparison } from '@agentlens/contracts';

export const OPERATORS = ['gt', 'gte', 'lt', 'lte', 'eq'] as const;
export type Operator = (typeof OPERATORS)[number];

/** Limit for a measured value; also shown in the history. */
export interface Threshold {
  readonly operator: Operator;
  readonly value: number;
}

/** Verb that relates a measured value to the threshold it meets. */
export const COMPARISONS: Readonly<Record<Operator, Comparison>> = {
  gt: 'exceeds',
  gte: 'reaches',
  lt: 'falls below',
  lte: 'falls to',
  eq: 'equals',
};

const HOLDS: Record<Operator, (value: number, limit: number) => boolean> = {
  gt: (value, limit) => value > limit,
  gte: (value, limit) => value >= limit,
  lt: (value, limit) => value < limit,
  lte: (value, limit) => value <= limit,
  eq: (value, limit) => value === limit,
};

/** Returns true if `value` meets the threshold. NaN meets no threshold. */
export function meets(value: number, threshold: Threshold): boolean {
  return HOLDS[threshold.operator](value, threshold.value);
}

/**
 * Removes binary noise from sums of decimal fractions (0.7 + 0.1 is less than 0.8): keeps twelve significant digits,
 * and integers exactly.
 */
export function withoutNoise(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(12));
}

/** Upper bound of the relative change made by `withoutNoise`, with a margin of two. */
const MAX_RELATIVE_NOISE = 1e-11;

/** Equals `meets(withoutNoise(value), threshold)`, but rounds only if noise could decide. */
export function meetsWithoutNoise(value: number, threshold: Threshold): boolean {
  const clear = Math.abs(value - threshold.value) > MAX_RELATIVE_NOISE * Math.abs(value);
  return meets(clear ? value : withoutNoise(value), threshold);
}
