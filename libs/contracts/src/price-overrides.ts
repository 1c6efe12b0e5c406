import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

/** The most that one unit may cost, in USD. Larger numbers are mistakes of the unit. */
const MAX_RATE = 100_000;
const Rate = z.number().min(0, 'must not be negative').max(MAX_RATE, `must be at most ${MAX_RATE}`);

/** USD per million tokens. A kind without a rate costs what the kind that contains it costs. */
export const PriceRates = z.strictObject({
  input: Rate,
  output: Rate,
  cacheRead: Rate.optional(),
  cacheWrite: Rate.optional(),
  cacheWrite1h: Rate.optional(),
  reasoning: Rate.optional(),
  audioInput: Rate.optional(),
  audioOutput: Rate.optional(),
});
export type PriceRates = z.infer<typeof PriceRates>;

const Day = z.iso.date();
const Glob = z
  .string()
  .min(1)
  .max(200)
  // Ranges instead of \p{...}, which generators of test cases from the API document cannot build.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
  .regex(/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]+$/, 'must be one line')
  .refine((text) => (text.match(/\*/g) ?? []).length <= 5, 'must contain at most 5 asterisks');

const members = {
  /** The provider it applies to, as clients name it; absent: every provider. */
  provider: ClientId.optional(),
  /** Model name; `*` matches any characters. */
  model: Glob,
  /** UTC day of the first call it applies to. */
  fromDay: Day,
  /** Absent: the price of the table, multiplied by `factor`. */
  rates: PriceRates.optional(),
  /** USD per call, added to the cost of its tokens. */
  perRequestUsd: Rate.optional(),
  /** Rates for the whole call if it has more input tokens than `aboveInputTokens`. The highest threshold applies. */
  tiers: z
    .array(z.strictObject({ aboveInputTokens: z.int().min(1), rates: PriceRates }))
    .max(10)
    .optional(),
  /** Factor by service tier, for example `{"batch": 0.5}`. */
  serviceTiers: z
    .record(z.string().min(1).max(100), z.number().min(0).max(100))
    .refine((tiers) => Object.keys(tiers).length <= 20, 'must have at most 20 tiers')
    .optional(),
  /** What a contract charges relative to the price, for example 0.85 for 15 % off. */
  factor: z.number().min(0, 'must not be negative').max(100, 'must be at most 100').optional(),
  note: z.string().max(500).optional(),
};

/** Request body that sets the own price of a model from a day on. It replaces one with the same provider, model and day. */
export const PriceOverrideDraft = z
  .strictObject(members)
  .refine(({ rates, factor }) => rates !== undefined || factor !== undefined, {
    path: ['rates'],
    message: 'must be given, unless a factor changes the price of the table',
  })
  .refine(({ rates, tiers }) => rates !== undefined || tiers === undefined, {
    path: ['tiers'],
    message: 'need rates for calls below the first tier',
  });
export type PriceOverrideDraft = z.infer<typeof PriceOverrideDraft>;

/** A tenant's own price. */
export const PriceOverride = z.object({
  ...members,
  id: z.string(),
  tenantId: TenantId,
  version: z.int().min(1),
  createdAt: Instant,
  updatedAt: Instant,
});
export type PriceOverride = z.infer<typeof PriceOverride>;

/** Most own prices of one tenant. */
export const MAX_PRICE_OVERRIDES = 1_000;
