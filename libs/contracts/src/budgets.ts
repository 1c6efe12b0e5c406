import { z } from 'zod';
import { ClientId, displayName, Instant, TenantId } from './ids.ts';
import { DAY_MS } from './times.ts';

export const BUDGET_SCOPES = ['run', 'session', 'agent', 'actor', 'tenant'] as const;
export const BUDGET_PERIODS = ['total', 'day', 'week', 'month'] as const;

/** Money that may be spent per scope and period. `scopeId` absent: every one of that scope has its own. */
export const Budget = z.object({
  id: z.string(),
  tenantId: TenantId,
  name: displayName(z.string()),
  scope: z.enum(BUDGET_SCOPES),
  scopeId: ClientId.optional(),
  /** UTC day, ISO week (Monday) or month; `total` never starts again. */
  period: z.enum(BUDGET_PERIODS),
  limitUsd: z.number().positive(),
  enabled: z.boolean().default(true),
  onUnavailable: z.enum(['allow', 'block']).default('block'),
  version: z.int().min(1),
  createdAt: Instant,
  updatedAt: Instant,
});
export type Budget = z.infer<typeof Budget>;

/** Limits are whole millionths, up to 15 digits; what is spent is counted in billionths. */
const LEAST_USD = 0.000001;
const MOST_USD = 99_999_999;

const { name, scope, scopeId, period, enabled, onUnavailable } = Budget.shape;
const limitUsd = z.number().min(LEAST_USD, 'must be at least 0.000001').max(MOST_USD, `must be at most ${MOST_USD}`);

/** Body of a new budget. */
export const BudgetDraft = z
  .strictObject({ name, scope, scopeId, period, enabled, onUnavailable, limitUsd })
  .refine((draft) => draft.scope !== 'tenant' || draft.scopeId === undefined, {
    path: ['scopeId'],
    message: 'must be absent: a tenant has one budget of its own',
  });

/** What may change of a budget while what was spent stays; another scope or period would be another budget. */
export const BudgetPatch = z
  .strictObject({ name, limitUsd, enabled: enabled.unwrap(), onUnavailable: onUnavailable.unwrap() })
  .partial();
export type BudgetPatch = z.infer<typeof BudgetPatch>;

/** One pot of a budget in its present period: what is spent, set aside for calls under way, and left, in USD. */
export const BudgetPot = z.object({
  /** Whose pot: a run, session, agent, end user or the tenant. */
  scopeId: z.string(),
  /** First day (UTC) of the period; `1970-01-01` where it never starts again. */
  periodStart: z.iso.date(),
  spentUsd: z.number().nonnegative(),
  reservedUsd: z.number().nonnegative(),
  /** Neither spent nor set aside; 0 where more was spent than there was. */
  remainingUsd: z.number().nonnegative(),
});
export type BudgetPot = z.infer<typeof BudgetPot>;

/** A budget and how it stands. Without `scopeId` the pots that spent most, at most 100. */
export const BudgetBalance = z.object({ budget: Budget, pots: z.array(BudgetPot) });
export type BudgetBalance = z.infer<typeof BudgetBalance>;

/** A pot of a budget of which so much is spent that people want to know. */
export interface BudgetReached {
  readonly budget: Budget;
  /** Whose pot: of a budget for each agent the agent, and so on. */
  readonly scopeId: string;
  readonly periodStart: string;
  readonly spentUsd: number;
  /** 0.8 or 1: the greatest share of the limit that was reached. */
  readonly share: number;
  readonly at: string;
}

/** First day of the UTC day, ISO week (Monday) or month that `atMs` lies in. */
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
