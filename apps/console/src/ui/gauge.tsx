import type { CSSProperties } from 'react';

interface GaugeProps {
  /** Used share of the limit; over 1 exceeds it. */
  readonly value: number;
  /** Forecast share. */
  readonly projected?: number;
  readonly shadow?: boolean;
  /** A score, where more is better. */
  readonly score?: boolean;
  readonly label: string;
}

/** A value against its limit. */
export function Gauge({ value, projected, shadow = false, score = false, label }: GaugeProps) {
  const tone = score ? '' : shadow ? 'ghost' : value > 1 || (projected ?? 0) >= 1 ? 'bad' : value >= 0.8 ? 'warn' : '';
  const style = { '--v': value > 1 ? 1.2 : value, '--p': Math.min(1, projected ?? 0) } as CSSProperties;
  return (
    <span className={`g ${tone} ${value > 1 ? 'over' : ''}`} style={style} role="img" aria-label={label}>
      <i />
      {projected !== undefined && projected > value && value < 1 && <u />}
      <s />
    </span>
  );
}

/** Remaining share of a waiting time. */
export function TimeLeft({ share, urgent }: { share: number; urgent: boolean }) {
  return (
    <span
      className={`g ${urgent ? 'bad' : 'warn'}`}
      style={{ '--v': Math.max(0, Math.min(1, share)) } as CSSProperties}
      aria-hidden="true"
    >
      <i />
    </span>
  );
}
