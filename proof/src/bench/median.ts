export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const pair = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return pair.reduce((sum, value) => sum + value, 0) / pair.length;
}
