/** Returns the value below which the share `q` of the values lies; NaN if there are none. */
export function quantile(values: readonly number[], q: number): number {
  const ascending = [...values].sort((a, b) => a - b);
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * q))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const pair = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return pair.reduce((sum, value) => sum + value, 0) / pair.length;
}

/** Latencies in microseconds on a logarithmic scale: constant memory, values accurate to 1 %. */
export class Latencies {
  private readonly counts = new Map<number, number>();
  private total = 0;
  private greatest = 0;

  record(microseconds: number): void {
    const bin = binOf(microseconds);
    this.counts.set(bin, (this.counts.get(bin) ?? 0) + 1);
    this.total += 1;
    if (microseconds > this.greatest) this.greatest = microseconds;
  }

  get count(): number {
    return this.total;
  }

  /** Milliseconds; NaN if nothing was recorded. */
  quantile(q: number): number {
    if (this.total === 0) return Number.NaN;
    let left = Math.ceil(q * this.total);
    for (const bin of [...this.counts.keys()].sort((a, b) => a - b)) {
      left -= this.counts.get(bin) ?? 0;
      if (left <= 0) return Math.min(middleOf(bin), this.greatest) / 1000;
    }
    return this.greatest / 1000;
  }

  summary(): LatencySummary {
    return {
      count: this.total,
      p50: this.quantile(0.5),
      p95: this.quantile(0.95),
      p99: this.quantile(0.99),
      max: this.total === 0 ? Number.NaN : this.greatest / 1000,
    };
  }
}

/** Milliseconds. */
export interface LatencySummary {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

const GROWTH = Math.log(1.02);

function binOf(microseconds: number): number {
  return Math.ceil(Math.log(Math.max(1, microseconds)) / GROWTH);
}

function middleOf(bin: number): number {
  return Math.exp(bin * GROWTH) / 1.01;
}
