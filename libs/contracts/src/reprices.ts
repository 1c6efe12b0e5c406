import { z } from 'zod';
import { ClientId, Instant } from './ids.ts';

/** Longest range of one reprice, in days. */
export const MAX_REPRICE_DAYS = 400;

/** Request body that recalculates the costs of stored model calls with the prices of the time of each call. */
export const RepriceDraft = z.strictObject({
  /** First instant of the range. */
  from: Instant,
  /** End of the range; calls at this instant are not included. */
  to: Instant,
  /** Only calls of these models, as the events name them. */
  models: z.array(ClientId).min(1).max(100).optional(),
  /** Only calls without a known cost. */
  onlyUnpriced: z.boolean().default(false),
  /** Reports what would change and changes nothing. */
  dryRun: z.boolean().default(false),
});
export type RepriceDraft = z.infer<typeof RepriceDraft>;

/** What a reprice changed for one model. */
export const RepricedModel = z.object({
  provider: z.string(),
  model: z.string(),
  /** Calls whose cost was recalculated. */
  calls: z.int(),
  changed: z.int(),
  oldUsd: z.number(),
  newUsd: z.number(),
  /** Calls that still have no price. */
  unpriced: z.int(),
});
export type RepricedModel = z.infer<typeof RepricedModel>;

const REPRICE_STATES = ['running', 'finished', 'failed'] as const;

/** A job that recalculates costs. */
export const Reprice = z.object({
  id: z.string(),
  ...RepriceDraft.shape,
  models: z.array(z.string()).optional(),
  onlyUnpriced: z.boolean(),
  dryRun: z.boolean(),
  state: z.enum(REPRICE_STATES),
  /** Share of the range that is done, 0 to 1. */
  progress: z.number().min(0).max(1),
  calls: z.int(),
  changed: z.int(),
  /** Cost after minus cost before, USD. */
  deltaUsd: z.number(),
  /** Models with the largest change first, at most 500. */
  byModel: z.array(RepricedModel),
  /** What a reprice does not change. */
  notes: z.array(z.string()),
  error: z.string().optional(),
  startedAt: Instant,
  finishedAt: Instant.optional(),
});
export type Reprice = z.infer<typeof Reprice>;

/** Budgets decide on money as it was known then; their ledgers are not rewritten. */
export const REPRICE_NOTES = [
  'Budgets keep what they counted: spent budgets are not rewritten.',
  'Costs that agents reported are kept; only their computed cost is updated.',
];
