import { DAY_MS, HOUR_MS } from '../../../../libs/contracts/src/times.ts';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { BudgetStanding } from '../api/model.ts';
import { Chart } from '../charts/chart.tsx';
import { categoryTone, type ReferenceLine, UNITS } from '../charts/data.ts';
import { money } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { Read } from '../ui/faces.tsx';
import { Section } from '../ui/section.tsx';

export const SPENDERS = [
  { id: 'agent', name: 'Agent' },
  { id: 'model', name: 'Model' },
  { id: 'user', name: 'User' },
] as const;
export type Spender = (typeof SPENDERS)[number]['id'];

/** The period of a budget that a chart of each range shows as a line. */
const BUDGET_PERIOD = { '24h': 'day', '7d': 'week', '30d': 'month' } as const;

/** Spend over time, stacked, with budgets of the whole tenant as lines and a forecast for the period. */
export function SpendChart({
  range,
  by,
  onBy,
  standings,
}: {
  range: keyof typeof BUDGET_PERIOD;
  by: Spender;
  onBy: (by: Spender) => void;
  standings: readonly BudgetStanding[];
}) {
  const granularity = range === '24h' ? 'hour' : 'day';
  const read = useRead(['spend', 'series', range, by], (signal) =>
    client.getSpendSeries({ query: { range, by, granularity }, signal }),
  );
  return (
    <Section
      title="Over time"
      link={
        <span className="ml seg" role="group" aria-label="Split by">
          {SPENDERS.map(({ id, name }) => (
            <button key={id} type="button" aria-pressed={by === id} onClick={() => onBy(id)}>
              {name}
            </button>
          ))}
        </span>
      }
    >
      <Read read={read} what="Spend over time" rows={5}>
        {({ keys, buckets, from, to }) => {
          const bucketMs = granularity === 'hour' ? HOUR_MS : DAY_MS;
          const total = buckets.reduce((sum, { costUsd }) => sum + costUsd.reduce((all, usd) => all + usd, 0), 0);
          return (
            <>
              <Chart
                title={`Spend by ${by}`}
                rows={buckets}
                at={({ at }: { readonly at: string }) => Date.parse(at)}
                bucketMs={bucketMs}
                range={{ from: Date.parse(from), to: Date.parse(to) }}
                unit={UNITS.usd}
                series={keys.map((key, index) => ({
                  ...{
                    id: key || '-',
                    name: nameOf(key, by),
                    tone: key === '*' ? ('mute' as const) : categoryTone(index),
                  },
                  ...{ shape: 'bar' as const, missing: 0 as const },
                  value: ({ costUsd }: { readonly costUsd: readonly number[] }) => costUsd[index] ?? 0,
                }))}
                lines={linesOf(standings, BUDGET_PERIOD[range], bucketMs)}
              />
              <p className="hint topped">{forecastText(total, Date.parse(from), Date.parse(to), range)}</p>
            </>
          );
        }}
      </Read>
    </Section>
  );
}

function nameOf(key: string, by: Spender): string {
  if (key === '*') return 'Others';
  return key === '' ? `No ${by}` : visible(key);
}

/** Budgets of the whole tenant, spread evenly over the buckets of their period. */
function linesOf(standings: readonly BudgetStanding[], period: string, bucketMs: number): readonly ReferenceLine[] {
  const buckets = { day: 24, week: 7, month: 30 }[period] ?? 1;
  return standings
    .filter(({ budget }) => budget.scope === 'tenant' && budget.period === period && budget.enabled)
    .map(({ budget }) => ({
      value: budget.limitUsd / buckets,
      label: `${visible(budget.name)} per ${bucketMs === HOUR_MS ? 'hour' : 'day'}`,
      tone: 'warn' as const,
    }));
}

/** At the rate of the range: what the current day, or month, will have cost at its end. */
function forecastText(totalUsd: number, fromMs: number, toMs: number, range: keyof typeof BUDGET_PERIOD): string {
  const perMs = totalUsd / Math.max(1, toMs - fromMs);
  const now = new Date(toMs);
  const monthEnd = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  const dayEnd = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  const [end, name] = range === '24h' ? [dayEnd, 'today'] : [monthEnd, 'this month'];
  return `At this rate, ${money(perMs * Math.max(0, end - toMs))} more will be spent until the end of ${name} (UTC).`;
}
