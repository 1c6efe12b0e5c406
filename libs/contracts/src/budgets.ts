import { z } from 'zod';
import { ClientId, displayName, Instant, TenantId } from './ids.ts';
import { DAY_MS } from './times.ts';

export const BUDGET_SCOPES = ['run', 'tree', 'session', 'agent', 'actor', 'tenant'] as const;
export const BUDGET_PERIODS = ['total', 'day', 'week', 'month'] as const;

/** Money that may be spent per scope and period. If `scopeId` is absent, each member of the scope has its own. */
export const Budget = z.object({
  id: z.string(),
  tenantId: TenantId,
  name: displayName(z.string()),
  scope: z.enum(BUDGET_SCOPES),
  scopeId: ClientId.optional(),
  /** UTC day, ISO week (Monday) or month; `total` never restarts. */
  period: z.enum(BUDGET_PERIODS),
  limitUsd: z.number().positive(),
  enabled: z.boolean().default(true),
  onUnavailable: z.enum(['allow', 'block']).default('block'),
  /**
   * Calls without a known price: `allow` counts nothing, `estimate` counts the price of the dearest model of the
   * provider, `block` does the same and blocks further calls until the period ends.
   */
  onUnpriced: z.enum(['allow', 'estimate', 'block']).default('estimate'),
  /** Whether a call that the agent estimates at 0 USD passes when the budget is spent. */
  freeCalls: z.enum(['allow', 'block']).default('allow'),
  version: z.int().min(1),
  createdAt: Instant,
  updatedAt: Instant,
});
export type Budget = z.infer<typeof Budget>;

/** Limits are whole millionths, up to 15 digits; spending is counted in billionths. */
const MIN_LIMIT_USD = 0.000001;
const MAX_LIMIT_USD = 99_999_999;

const { name, scope, scopeId, period, enabled, onUnavailable, onUnpriced, freeCalls } = Budget.shape;
const limitUsd = z
  .number()
  .min(MIN_LIMIT_USD, 'must be at least 0.000001')
  .max(MAX_LIMIT_USD, `must be at most ${MAX_LIMIT_USD}`);

/** Request body that creates a budget. */
export const BudgetDraft = z
  .strictObject({ name, scope, scopeId, period, enabled, onUnavailable, onUnpriced, freeCalls, limitUsd })
  .refine((draft) => draft.scope !== 'tenant' || draft.scopeId === undefined, {
    path: ['scopeId'],
    message: 'must be absent: a tenant has one budget of its own',
  })
  .refine((draft) => draft.scope !== 'tree' || draft.scopeId === undefined, {
    path: ['scopeId'],
    message: 'must be absent: each run tree has a budget of its own',
  });

/**
 * Request body that changes a budget without affecting what was spent. Another scope or period would be another budget.
 */
export const BudgetPatch = z
  .strictObject({
    ...{ name, limitUsd, enabled: enabled.unwrap(), onUnavailable: onUnavailable.unwrap() },
    ...{ onUnpriced: onUnpriced.unwrap(), freeCalls: freeCalls.unwrap() },
  })
  .partial();
export type BudgetPatch = z.infer<typeof BudgetPatch>;

/** Account of a budget in its current period: spent, reserved for running calls, and remaining, in USD. */
export const BudgetPot = z.object({
  /** Id of the run, topmost run of a tree, session, agent, end user or tenant. */
  scopeId: z.string(),
  /** First day (UTC) of the period; `1970-01-01` if it never restarts. */
  periodStart: z.iso.date(),
  spentUsd: z.number().nonnegative(),
  reservedUsd: z.number().nonnegative(),
  /** Neither spent nor reserved; 0 if more was spent than the limit. */
  remainingUsd: z.number().nonnegative(),
  /** Calls without a known price in this period. */
  unpricedCalls: z.int().nonnegative().default(0),
  /** Part of `spentUsd` that was estimated for them. */
  estimatedUsd: z.number().nonnegative().default(0),
});
export type BudgetPot = z.infer<typeof BudgetPot>;

/** A budget and its accounts. Without `scopeId`, the accounts that spent most, at most 100. */
export const BudgetBalance = z.object({ budget: Budget, pots: z.array(BudgetPot) });
export type BudgetBalance = z.infer<typeof BudgetBalance>;

/** Event: an account reached a notification threshold of its budget. */
export interface BudgetReached {
  readonly budget: Budget;
  /** Id of the agent, run and so on that the account belongs to. */
  readonly scopeId: string;
  readonly periodStart: string;
  readonly spentUsd: number;
  /** 0.8 or 1: the largest share of the limit that was reached. */
  readonly share: number;
  readonly at: string;
}

/** Returns the first day of the UTC day, ISO week (Monday) or month that contains `atMs`. */
export function periodStart(period: Budget['period'], atMs: number): string {
  const day = new Date(atMs).toISOString().slice(0, 10);
  switch (period) {
    case 'total':
      return '1970-01-01';
    case 'day':
      return day;
    case 'week': {
      const sinceMonday = (new Date(atMs).getUTCDay() + 6) % 7;
      return new Date(atMs - sinceMonday * DAY_MS).toISOString().slice(0, 10);
    }
    case 'month':
      return `${day.slice(0, 7)}-01`;
  }
}
