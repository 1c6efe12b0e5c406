import type { Now } from '../api/model.ts';
import { count } from '../figures/figures.ts';

const HEIGHT = 52;

/** Calls asked about in each minute of the last hour, and what became of them. */
export function Pulse({ pulse }: { pulse: Now['pulse'] }) {
  const most = Math.max(1, ...pulse.asked);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const [asked, blocked, human] = [sum(pulse.asked), sum(pulse.blocked), sum(pulse.askedHuman)];
  if (asked === 0) return null;
  const high = (value: number) => (value === 0 ? 0 : Math.max(2, (HEIGHT * value) / most));
  return (
    <figure className="pulse">
      <svg
        viewBox={`0 0 360 ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${asked} calls asked about in the last hour, ${blocked} blocked, ${human} asked a human`}
      >
        {pulse.asked.map((value, minute) => {
          const [bad, warn] = [high(pulse.blocked[minute] ?? 0), high(pulse.askedHuman[minute] ?? 0)];
          const x = 1 + minute * 6;
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its minute
            <g key={minute}>
              {value > 0 && <rect className="pl" x={x} width="4" y={HEIGHT - high(value)} height={high(value)} />}
              {bad > 0 && <rect className="pb" x={x} width="4" y={HEIGHT - high(value)} height={bad} />}
              {warn > 0 && <rect className="pa" x={x} width="4" y={HEIGHT - high(value) + bad} height={warn} />}
            </g>
          );
        })}
      </svg>
      <p className="num">
        <span>
          <b>{count(asked)}</b> calls asked
        </span>
        {blocked > 0 && (
          <span className="bad">
            <b className="bad">{count(blocked)}</b> blocked
          </span>
        )}
        {human > 0 && (
          <span className="warn">
            <b className="warn">{count(human)}</b> asked a human
          </span>
        )}
        <span>last hour</span>
      </p>
    </figure>
  );
}
