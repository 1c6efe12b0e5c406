import { DAY_MS, HOUR_MS } from '../../../../libs/contracts/src/times.ts';
import { client } from '../api/client.ts';
import type { BudgetStanding } from '../api/model.ts';
import { money } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { shortClock } from '../time/zone.ts';
import { useNow } from '../ui/moment.tsx';
import { projectionOf } from './projection.ts';

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [690, 210, 40, 26, 30];
/** Height of a line of text. */
const LINE_PX = 14;

/** Spent over the period against the budget, and where the line is heading. */
export function BurnDown({ standing: { budget, pots } }: { standing: BudgetStanding }) {
  const now = useNow();
  const pot = pots[0];
  const startMs = pot === undefined ? now : Date.parse(`${pot.periodStart}T00:00:00Z`);
  const from = new Date(Math.max(startMs, now - 31 * DAY_MS)).toISOString();
  const agentId = budget.scope === 'agent' ? (budget.scopeId ?? pot?.scopeId) : undefined;
  const spent = useRead(['spend', 'burn', budget.id, from], (signal) =>
    client.getAnalytics({ query: { from, granularity: budget.period === 'day' ? 'hour' : 'day', agentId }, signal }),
  );
  if (pot === undefined) return null;
  const { spentAtMs, endMs = now } = projectionOf(budget, pot, now);
  const begin = Date.parse(from);
  const end = Math.max(endMs, now + 1);
  const most = Math.max(budget.limitUsd, pot.spentUsd) * 1.12;
  const x = (ms: number) => LEFT + ((ms - begin) / (end - begin)) * (WIDTH - LEFT - 10);
  const y = (usd: number) => HEIGHT - BOTTOM - (usd / most) * (HEIGHT - BOTTOM - TOP);
  let sum = 0;
  const bucketMs = budget.period === 'day' ? HOUR_MS : DAY_MS;
  // Nothing was spent between two buckets, so the line is level there.
  const points = (spent.data?.buckets ?? []).flatMap((bucket) => {
    const at = Date.parse(bucket.timestamp);
    const before = sum;
    sum += bucket.totalCostUsd;
    return [[Math.max(begin, at), before] as const, [Math.min(now, at + bucketMs), sum] as const];
  });
  const ends = points.filter((_, index) => index % 2 === 1);
  const scale = sum > 0 ? pot.spentUsd / sum : 1;
  const path = [
    [begin, 0] as const,
    ...points.map(([ms, usd]) => [ms, usd * scale] as const),
    [now, pot.spentUsd] as const,
  ]
    .map(([ms, usd], index) => `${index === 0 ? 'M' : 'L'}${x(ms).toFixed(1)} ${y(usd).toFixed(1)}`)
    .join('');
  // Below the point, unless the line of the budget runs there.
  const below = y(pot.spentUsd) + 16;
  const nowY = Math.abs(below - 4 - y(budget.limitUsd)) < LINE_PX ? y(pot.spentUsd) - 8 : below;
  const calm = spentAtMs === undefined && pot.spentUsd < budget.limitUsd ? 'calm' : '';
  return (
    <>
      <svg
        className={`burn ${calm}`}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${money(pot.spentUsd)} of ${money(budget.limitUsd)} spent${spentAtMs === undefined ? '' : `, all of it at about ${shortClock(spentAtMs)}`}`}
      >
        {[0.25, 0.5, 0.75].map((part) => (
          <line
            key={part}
            className="gl"
            x1={LEFT}
            x2={WIDTH - 10}
            y1={y(budget.limitUsd * part)}
            y2={y(budget.limitUsd * part)}
          />
        ))}
        <text x={LEFT - 8} y={y(0) + 4} textAnchor="end">
          0
        </text>
        <text x={LEFT - 8} y={y(budget.limitUsd) + 4} textAnchor="end" className="lt">
          {budget.limitUsd}
        </text>
        <line className="lim" x1={LEFT} x2={WIDTH - 10} y1={y(budget.limitUsd)} y2={y(budget.limitUsd)} />
        <text x={LEFT + 4} y={y(budget.limitUsd) - 6}>
          budget
        </text>
        <path className="ar" d={`${path}L${x(now)} ${y(0)}L${LEFT} ${y(0)}Z`} />
        <path className="ac" d={path} />
        <line className="nl" x1={x(now)} x2={x(now)} y1={y(pot.spentUsd)} y2={y(0)} />
        {spentAtMs !== undefined && (
          <line className="pr" x1={x(now)} y1={y(pot.spentUsd)} x2={x(spentAtMs)} y2={y(budget.limitUsd)} />
        )}
        {spentAtMs !== undefined && <circle className="ex" cx={x(spentAtMs)} cy={y(budget.limitUsd)} r={4} />}
        <circle className="pt" cx={x(now)} cy={y(pot.spentUsd)} r={4} />
        <text className="nw" x={Math.min(x(now) + 8, WIDTH - 90)} y={nowY}>
          now {money(pot.spentUsd)}
        </text>
        <text x={LEFT} y={HEIGHT - 8}>
          {shortClock(begin)}
        </text>
        <text x={WIDTH - 10} y={HEIGHT - 8} textAnchor="end">
          {shortClock(end)}
        </text>
      </svg>
      <details className="astab">
        <summary>As a table</summary>
        <table className="tb flush">
          <tbody>
            {ends.map(([ms, usd]) => (
              <tr key={ms}>
                <td>{shortClock(ms)}</td>
                <td className="r num">{money(usd * scale)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </>
  );
}
