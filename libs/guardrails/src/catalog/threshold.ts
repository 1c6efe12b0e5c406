import type { Comparison } from '@agentlens/contracts';

export const OPERATORS = ['gt', 'gte', 'lt', 'lte', 'eq'] as const;
export type Operator = (typeof OPERATORS)[number];

/** What a measured value is compared with; also what the history shows. */
export interface Threshold {
  readonly operator: Operator;
  readonly value: number;
}

/** How a measured value that meets a threshold stands to it, in words. */
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

/** True if `value` meets the threshold. NaN meets none. */
export function meets(value: number, threshold: Threshold): boolean {
  return HOLDS[threshold.operator](value, threshold.value);
}

/**
 * Sums of decimal fractions carry binary noise (0.7 + 0.1 is less than 0.8), and a boundary has to hold: twelve
 * significant digits are kept, whole numbers exactly.
 */
export function withoutNoise(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(12));
}

/** Removing noise moves a value by five parts in a million millions at most. */
const MOST_NOISE = 1e-11;

/** `meets(withoutNoise(value), threshold)`; text is made of the value only where noise could decide. */
export function meetsWithoutNoise(value: number, threshold: Threshold): boolean {
  const clear = Math.abs(value - threshold.value) > MOST_NOISE * Math.abs(value);
  return meets(clear ? value : withoutNoise(value), threshold);
}
