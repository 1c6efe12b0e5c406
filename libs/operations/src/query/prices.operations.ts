import {
  ClientId,
  Instant,
  MAX_PRICE_OVERRIDES,
  PriceOverride,
  PriceOverrideDraft,
  Reprice,
  RepriceDraft,
  UNPRICED_REASONS,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';
import { consistent, IdPath, timeRange } from '../parameters.ts';

const TAG = 'Prices';

const PriceTableView = z
  .object({
    version: z.string(),
    source: z.enum(['shipped', 'loaded']),
    publishedAt: z.iso.date().optional().meta({ description: 'Day of the release of a shipped table.' }),
    loadedAt: Instant.optional(),
    ageDays: z.int().meta({ description: 'Days since the table was published or loaded.' }),
  })
  .meta({ id: 'PriceTable' });
export type PriceTableView = z.infer<typeof PriceTableView>;

const OverrideView = PriceOverride.meta({ id: 'PriceOverride' });

/** The price that applies to a call, and why. */
const PriceExplanation = z.object({
  model: z.string(),
  provider: z.string().optional(),
  at: Instant,
  source: z.enum(['override', 'table', 'none']),
  priceRef: z
    .string()
    .optional()
    .meta({ description: 'As events keep it: `table@<version>` or `override:<id>@<version>`.' }),
  reason: z.enum(UNPRICED_REASONS).optional().meta({ description: 'Why there is no price.' }),
  listed: z
    .object({
      provider: z.string(),
      model: z.string(),
      rates: z
        .record(z.string(), z.unknown())
        .meta({ description: 'USD per million tokens, as the table lists them.' }),
    })
    .optional()
    .meta({ description: 'What the table lists for this name.' }),
  overrides: z.array(OverrideView).meta({ description: 'Own prices that match; the first applies.' }),
  estimateUsdPerMillionInput: z
    .number()
    .optional()
    .meta({ description: 'What budgets count for a million input tokens, if there is no price.' }),
});

export const getPrices = operation({
  id: 'getPrices',
  method: 'get',
  path: '/api/prices',
  tag: TAG,
  summary: 'The price table, and with `model` the price that applies to a call and why.',
  scope: 'read',
  query: z.object({ model: ClientId.optional(), provider: ClientId.optional(), at: Instant.optional() }),
  response: z.object({ table: PriceTableView, price: PriceExplanation.optional() }),
});

export const loadPriceTable = operation({
  id: 'loadPriceTable',
  method: 'put',
  path: '/api/prices/table',
  tag: TAG,
  summary:
    'Load a newer price table for all tenants: `data.json` of genai-prices. Gateways use it within ten seconds; stored costs stay until they are repriced.',
  scope: 'platform',
  body: z.strictObject({
    version: z
      .string()
      .regex(/^[\w.:-]{1,50}$/, 'must be 1 to 50 letters, digits, dots, colons, underscores or hyphens')
      .meta({ description: 'A name for the table, such as its date.' }),
    providers: z
      .array(z.looseObject({ id: z.string() }))
      .min(1)
      .max(300),
  }),
  response: z.object({ table: PriceTableView, models: z.int() }),
  problems: [409],
});

export const listPriceOverrides = operation({
  id: 'listPriceOverrides',
  method: 'get',
  path: '/api/prices/overrides',
  tag: TAG,
  summary: `Own prices of the tenant, by model; at most ${MAX_PRICE_OVERRIDES}.`,
  scope: 'read',
  response: z.object({ overrides: z.array(OverrideView) }),
});

export const setPriceOverride = operation({
  id: 'setPriceOverride',
  method: 'put',
  path: '/api/prices/overrides',
  tag: TAG,
  summary:
    'Set an own price. It replaces the one with the same provider, model and day. An exact name applies before a pattern, a longer pattern before a shorter one, a newer day before an older one.',
  scope: 'admin',
  headers: VersionHeaders,
  body: PriceOverrideDraft.meta({ id: 'PriceOverrideDraft' }),
  examples: {
    ownModel: { model: 'house-model-*', fromDay: '2026-11-01', rates: { input: 0.2, output: 0.6 } },
    contract: { provider: 'anthropic', model: 'claude-*', fromDay: '2026-11-01', factor: 0.85 },
    selfHosted: { provider: 'ollama', model: '*', fromDay: '2026-11-01', rates: { input: 0, output: 0 } },
  },
  versioned: true,
  response: OverrideView,
  problems: [409, 412],
});

export const deletePriceOverride = operation({
  id: 'deletePriceOverride',
  method: 'delete',
  path: '/api/prices/overrides/:id',
  tag: TAG,
  summary: 'Delete an own price. Stored costs stay until they are repriced.',
  scope: 'admin',
  params: IdPath,
  headers: VersionHeaders,
  response: z.object({ ok: z.literal(true) }),
  problems: [404, 412],
});

const RepriceView = Reprice.meta({ id: 'Reprice' });

export const createReprice = operation({
  id: 'createReprice',
  method: 'post',
  path: '/api/reprices',
  tag: TAG,
  summary:
    'Recalculate the costs of stored model calls with the prices of the time of each call. Runs in the background; run and daily totals move with the calls. Spent budgets are not rewritten.',
  scope: 'admin',
  once: true,
  body: RepriceDraft.meta({ id: 'RepriceDraft' }),
  examples: {
    preview: { from: '2026-11-01T00:00:00.000Z', to: '2026-12-01T00:00:00.000Z', onlyUnpriced: true, dryRun: true },
  },
  forwarded: true,
  status: 201,
  response: RepriceView,
  problems: [409, 422],
});

export const listReprices = operation({
  id: 'listReprices',
  method: 'get',
  path: '/api/reprices',
  tag: TAG,
  summary: 'Reprices, newest first, at most 100.',
  scope: 'read',
  response: z.object({ reprices: z.array(RepriceView) }),
});

export const getReprice = operation({
  id: 'getReprice',
  method: 'get',
  path: '/api/reprices/:id',
  tag: TAG,
  summary: 'A reprice with its progress and its changes by model.',
  scope: 'read',
  params: IdPath,
  response: RepriceView,
  problems: [404],
});

const UsageRange = consistent(z.object(timeRange));

export const getUnpricedUsage = operation({
  id: 'getUnpricedUsage',
  method: 'get',
  path: '/api/usage/unpriced',
  tag: TAG,
  summary: 'Models whose calls have no known price (default: of the last 30 days), with a price to set.',
  scope: 'read',
  query: UsageRange,
  response: z.object({
    from: Instant,
    to: Instant,
    models: z.array(
      z.object({
        provider: z.string(),
        model: z.string(),
        reason: z.string().optional(),
        calls: z.int(),
        inputTokens: z.int(),
        outputTokens: z.int(),
        estimatedUsd: z.number().meta({ description: 'What budgets that count estimates counted for them.' }),
        firstAt: Instant,
        lastAt: Instant,
        proposal: z
          .object({ ...PriceOverrideDraft.shape, basedOn: z.string() })
          .optional()
          .meta({ description: 'An own price to set, copied from the listed model with the nearest name.' }),
      }),
    ),
  }),
});

export const listUsageSources = operation({
  id: 'listUsageSources',
  method: 'get',
  path: '/api/usage/sources',
  tag: TAG,
  summary: 'Libraries that reported model calls in the last day, and what they are known not to report.',
  scope: 'read',
  response: z.object({
    sources: z.array(
      z.object({
        name: z.string().meta({ description: 'The scope of an instrumentation, or the framework of an adapter.' }),
        version: z.string().optional(),
        calls: z.int().meta({ description: 'Of the calls that were looked at, at most 5,000.' }),
        withoutTokens: z.int(),
        gaps: z.array(z.string()).meta({ description: 'For example "does not report cached tokens".' }),
      }),
    ),
  }),
});

export const getCostDifferences = operation({
  id: 'getCostDifferences',
  method: 'get',
  path: '/api/usage/differences',
  tag: TAG,
  summary: 'Models whose reported costs differ from the price list by more than 5 % (default: of the last 30 days).',
  scope: 'read',
  query: UsageRange,
  response: z.object({
    from: Instant,
    to: Instant,
    models: z.array(
      z.object({
        provider: z.string(),
        model: z.string(),
        calls: z.int().meta({ description: 'Calls with a reported and a computed cost.' }),
        different: z.int(),
        reportedUsd: z.number(),
        computedUsd: z.number(),
      }),
    ),
  }),
});

const InvoiceDifference = z.object({ invoicedUsd: z.number(), recordedUsd: z.number(), differenceUsd: z.number() });

export const checkInvoice = operation({
  id: 'checkInvoice',
  method: 'post',
  path: '/api/invoices/check',
  tag: TAG,
  summary:
    "Compare a provider's cost export with recorded costs, by day and model. Nothing is stored. Formats: cost exports of OpenAI and Anthropic, or a CSV with the columns day, model and cost.",
  scope: 'read',
  body: z.strictObject({
    csv: z.string().min(1).max(2_000_000).meta({ description: 'The file, with its header line.' }),
    provider: ClientId.optional().meta({ description: 'Compare only calls of this provider.' }),
  }),
  response: z.object({
    format: z.enum(['openai', 'anthropic', 'generic']),
    from: z.iso.date(),
    to: z.iso.date(),
    total: InvoiceDifference,
    explainedPercent: z
      .number()
      .meta({ description: 'Share of the invoice that recorded calls account for, 0 to 100.' }),
    byDay: z.array(InvoiceDifference.extend({ day: z.iso.date() })),
    byModel: z.array(InvoiceDifference.extend({ model: z.string() })),
    unseen: z.array(z.object({ day: z.iso.date(), model: z.string(), invoicedUsd: z.number() })).meta({
      description: 'Invoiced spend on days without a recorded call of that model, highest first, at most 100.',
    }),
    skippedLines: z.int().meta({ description: 'Lines without a day or a cost.' }),
  }),
  problems: [422],
});
