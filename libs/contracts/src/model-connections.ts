import { z } from 'zod';

/** APIs of model providers that the gateway speaks. */
export const CONNECTION_DIALECTS = ['anthropic', 'openai', 'gemini'] as const;
export type ConnectionDialect = (typeof CONNECTION_DIALECTS)[number];

/** Address of a provider inside the gateway, for trying it without a key of a provider. */
export const TRIAL_PROVIDER = 'agentlens:trial';

/** The address that a client of the dialect would use without the gateway. */
export const PROVIDER_ADDRESSES: Readonly<Record<ConnectionDialect, string>> = {
  anthropic: 'https://api.anthropic.com',
  openai: 'https://api.openai.com/v1',
  gemini: 'https://generativelanguage.googleapis.com',
};

/** Maximum connections of a tenant. */
export const MAX_MODEL_CONNECTIONS = 100;

/** How long a model may take to begin its answer, unless a connection says otherwise. */
export const DEFAULT_FIRST_BYTE_SECONDS = 15 * 60;

const MAX_MODELS = 200;
const MAX_HEADERS = 20;

/** Name of a connection, which is a part of the address that clients use. */
export const ConnectionName = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/,
    'must be lower-case letters, digits and "-", such as "anthropic" or "openai-eu"',
  );

const baseUrl = z
  .union(
    [z.literal(TRIAL_PROVIDER), z.url({ protocol: /^https?$/ }).max(500)],
    `must be the address that an SDK would use, such as ${PROVIDER_ADDRESSES.openai}`,
  )
  .refine((url) => url === TRIAL_PROVIDER || !/[?#]/.test(url), 'must not have a query or fragment')
  .transform((url) => url.replace(/\/+$/, ''));

/** A connection to a model provider, as an admin sets it. */
export const ModelConnectionDraft = z.strictObject({
  dialect: z.enum(CONNECTION_DIALECTS, `must be one of ${CONNECTION_DIALECTS.join(', ')}`),
  baseUrl: baseUrl.optional().meta({ description: "Address of the provider. Default: the provider's own." }),
  credential: z
    .string()
    .min(1, 'must not be empty')
    .max(4_000)
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
    .optional()
    .meta({
      description: 'API key of the provider. It is sealed and never returned. Omit it to keep the stored one.',
    }),
  models: z
    .array(z.string().min(1).max(256))
    .min(1, 'must name at least one model; omit it to allow all')
    .max(MAX_MODELS)
    .optional()
    .meta({ description: 'Models that may be called; `*` stands for any characters. Absent: all.' }),
  forwardHeaders: z
    .array(z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be a header name in lower case'))
    .max(MAX_HEADERS)
    .default([])
    .meta({ description: 'Headers of clients that the provider receives besides the usual ones.' }),
  pricingProvider: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'Provider whose prices apply. Default: that of the dialect.' }),
  enabled: z
    .boolean()
    .default(true)
    .meta({ description: 'False: new calls are refused. The key is kept, and open answers go on.' }),
  fallback: ConnectionName.optional().meta({
    description:
      'Another connection of the same dialect. It gets a call once if this provider cannot be reached, does not begin ' +
      'its answer in time, or answers 429 or 5xx. Absent: none.',
  }),
  firstByteSeconds: z
    .int()
    .min(1)
    .max(DEFAULT_FIRST_BYTE_SECONDS)
    .optional()
    .meta({
      description: `How long the provider may take to begin its answer. Default: ${DEFAULT_FIRST_BYTE_SECONDS}.`,
    }),
});
export type ModelConnectionDraft = z.output<typeof ModelConnectionDraft>;
