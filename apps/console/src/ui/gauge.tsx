import type { CSSProperties } from 'react';

interface GaugeProps {
  /** Share of the limit that is used; more than 1 is over. */
  readonly value: number;
  /** Share it is on course for. */
  readonly projected?: number;
  readonly shadow?: boolean;
  /** A score, of which more is better: being full is no warning. */
  readonly score?: boolean;
  readonly label: string;
}

/** A value against its limit: the one way it is drawn everywhere. */
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

/** What is left of a wait: no limit to reach, only time that runs. */
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
