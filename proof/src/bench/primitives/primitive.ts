/** One thing the platform does all the time, measured bare: without the platform, on this machine, now. */
export interface Primitive {
  readonly name: string;
  readonly unit: 'CPU µs' | 'ms';
  readonly here: number;
  /** What the machine took that the project's aims were set on: two quiet cores of a Zen 5, in the same unit. */
  readonly there: number;
  /** Of a thing whose worst times bound those of the platform, in the same unit. */
  readonly p99?: number;
}

/** How many times as long as there. */
export function factor({ here, there }: Primitive): number {
  return here / there;
}

/** The middle of the factors: of an even count the mean of the two in the middle. */
export function medianFactor(primitives: readonly Primitive[]): number {
  const factors = primitives.map(factor).sort((a, b) => a - b);
  const at = (index: number) => factors[index] ?? Number.NaN;
  return (at(Math.floor((factors.length - 1) / 2)) + at(Math.floor(factors.length / 2))) / 2;
}
