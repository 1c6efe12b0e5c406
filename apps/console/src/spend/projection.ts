import { DAY_MS } from '../../../../libs/contracts/src/times.ts';
import type { Budget, BudgetStanding } from '../api/model.ts';

type Pot = BudgetStanding['pots'][number];

/** Too early in a period a rate says nothing. */
const MIN_ELAPSED_SHARE = 0.02;

/** When a period of a budget ends, ms; undefined where it never does. */
function periodEndMs(period: Budget['period'], startMs: number): number | undefined {
  const start = new Date(startMs);
  if (period === 'day') return startMs + DAY_MS;
  if (period === 'week') return startMs + 7 * DAY_MS;
  if (period === 'month') return Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1);
  return undefined;
}

interface Projection {
  /** What will be spent by the end of the period at the rate so far; undefined where that cannot be said. */
  readonly courseUsd: number | undefined;
  /** When the budget will be spent, where that is before the period ends. */
  readonly spentAtMs: number | undefined;
  readonly endMs: number | undefined;
}

/** Where a pot is heading; nothing can be said of a budget without one. */
export function projectionOf(
  budget: Pick<Budget, 'period' | 'limitUsd'>,
  pot: Pick<Pot, 'periodStart' | 'spentUsd'> | undefined,
  atMs: number,
): Projection {
  if (pot === undefined) return { courseUsd: undefined, spentAtMs: undefined, endMs: undefined };
  const startMs = Date.parse(`${pot.periodStart}T00:00:00Z`);
  const endMs = periodEndMs(budget.period, startMs);
  const elapsed = atMs - startMs;
  if (endMs === undefined || elapsed <= 0 || elapsed / (endMs - startMs) < MIN_ELAPSED_SHARE || pot.spentUsd === 0)
    return { courseUsd: undefined, spentAtMs: undefined, endMs };
  const perMs = pot.spentUsd / elapsed;
  const courseUsd = perMs * (endMs - startMs);
  const spentAt = atMs + (budget.limitUsd - pot.spentUsd) / perMs;
  return { courseUsd, spentAtMs: courseUsd > budget.limitUsd && spentAt > atMs ? spentAt : undefined, endMs };
}
