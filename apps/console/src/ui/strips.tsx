import { count } from '../figures/figures.ts';

/** Strip with one cell per day, and a text for screen readers. */
export function Strip({ values, tone, label }: { values: readonly number[]; tone: string; label: string }) {
  const most = Math.max(1, ...values);
  return (
    <span className={`strip ${tone}`} role="img" aria-label={`${label}: ${values.map(count).join(', ')}`}>
      {values.map((value, day) => (
        <i
          // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its day
          key={day}
          className={value === 0 ? 'z' : ''}
          style={{ height: `${value === 0 ? 2 : 3 + (13 * value) / most}px` }}
        />
      ))}
    </span>
  );
}

/** Sparkline. */
export function Spark({ values, width = 88, label }: { values: readonly number[]; width?: number; label: string }) {
  const most = Math.max(1, ...values);
  const x = (index: number) => 2 + (index * (width - 4)) / Math.max(1, values.length - 1);
  const y = (value: number) => 16 - (14 * value) / most;
  const line = values
    .map((value, index) => `${index === 0 ? 'M' : 'L'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`)
    .join('');
  const last = values.at(-1) ?? 0;
  return (
    <svg className="spark" width={width} height={18} viewBox={`0 0 ${width} 18`} role="img" aria-label={label}>
      <path className="a" d={`${line}L${width - 2} 18L2 18Z`} />
      <path d={line} />
      <circle className="e" cx={x(values.length - 1)} cy={y(last)} r={1.9} />
    </svg>
  );
}
