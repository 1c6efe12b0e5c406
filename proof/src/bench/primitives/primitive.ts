/** A basic operation that the platform does all the time, measured on this machine without the platform. */
export interface Primitive {
  readonly name: string;
  readonly unit: 'CPU µs' | 'ms';
  readonly here: number;
  /** Result on the reference machine that the targets were set on: two quiet cores of a Zen 5, in the same unit. */
  readonly there: number;
  /** The p99, if it bounds a latency of the platform, in the same unit. */
  readonly p99?: number;
}

/** Ratio of the time here to the time on the reference machine. */
export function factor({ here, there }: Primitive): number {
  return here / there;
}

/** Median of the factors; for an even count, the mean of the two in the middle. */
export function medianFactor(primitives: readonly Primitive[]): number {
  const factors = primitives.map(factor).sort((a, b) => a - b);
  const at = (index: number) => factors[index] ?? Number.NaN;
  return (at(Math.floor((factors.length - 1) / 2)) + at(Math.floor(factors.length / 2))) / 2;
}
