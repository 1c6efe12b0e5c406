/** Returns the value below which the share `q` of the values lies; NaN if there are none. */
export function quantile(values: readonly number[], q: number): number {
  const ascending = [...values].sort((a, b) => a - b);
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * q))] ?? Number.NaN;
}
