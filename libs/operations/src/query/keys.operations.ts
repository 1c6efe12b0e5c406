import { ClientId, displayName, Instant, SCOPES, type Scope } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';
import { consistent, IdPath, InstantParameter, paging } from '../parameters.ts';
import { ScopeNames } from './control.operations.ts';

export const KEYS_LIST = 'keys';

const Scopes = z.array(z.enum(SCOPES));

const shown = {
  id: z.string(),
  name: z.string(),
  scopes: Scopes,
  agents: z
    .array(z.string())
    .nullable()
    .meta({ description: 'Agents the key is bound to; null: every agent of the tenant.' }),
  tenantId: z.string(),
  eventsPerSecond: z.int().nullable().meta({ description: "Quota of this key; null: the platform's default." }),
  createdAt: Instant,
  expiresAt: Instant.nullable(),
  breakGlass: z.boolean().meta({ description: 'Signs in while single sign-on is required.' }),
  version: z.int().meta({ description: 'Increases by one when the key is rotated or revoked.' }),
};

const KeyView = z
  .object({ ...shown, lastUsedAt: Instant.nullable(), revokedAt: Instant.nullable() })
  .meta({ id: 'ApiKey' });

const NewKey = z
  .object({ ...shown, key: z.string().meta({ description: 'The key, shown only here.' }) })
  .meta({ id: 'NewApiKey' });

/** A platform key manages the platform keys, which belong to no tenant with agents. */
const MAKERS = ['admin', 'platform'] as const;
/** Agents per key: more than a team has, and few enough to list in an error. */
const MAX_AGENTS = 100;

/** Scopes a key bound to agents may have. */
const BINDABLE: readonly Scope[] = ['ingest', 'decide', 'model'];

const NAME = displayName(z.string().trim());

export const createKey = operation({
  id: 'createKey',
  method: 'post',
  path: '/api/keys',
  tag: 'API keys',
  summary: "Create a key of the caller's tenant. The key is only in this answer.",
  scope: 'admin',
  once: true,
  body: z
    .strictObject({
      name: NAME.default('API key'),
      scopes: ScopeNames.default(['ingest', 'decide', 'read']),
      agents: z
        .array(ClientId)
        .min(1, 'must name at least one agent; omit it for a key of every agent')
        .max(MAX_AGENTS)
        .optional()
        .meta({
          description: 'Binds the key to these agents, by id (the slug); it is rejected for any other agent.',
        }),
      eventsPerSecond: z.int().min(1).max(1_000_000).optional(),
      expiresAt: InstantParameter.optional(),
      breakGlass: z.boolean().optional().meta({
        description:
          'For an admin key that is kept offline: it signs in while single sign-on is required, for an hour.',
      }),
    })
    .refine(({ breakGlass, scopes }) => breakGlass !== true || scopes.includes('admin'), {
      path: ['scopes'],
      message: 'must contain "admin" for a break-glass key',
    })
    .refine(({ agents, scopes }) => agents === undefined || scopes.every((scope) => BINDABLE.includes(scope)), {
      path: ['scopes'],
      message: `must be of ${BINDABLE.join(', ')} for a key that is bound to agents: other scopes concern every agent`,
    })
    .prefault({}),
  examples: {
    agent: { name: 'Support bot', scopes: ['ingest', 'decide'], agents: ['support-bot'] },
    reviewer: { name: 'Ada', scopes: ['read', 'review'], expiresAt: '2099-12-31T00:00:00Z' },
  },
  status: 201,
  versioned: true,
  response: NewKey,
});

/** Older clients read one page as the whole list, so it is long. */
export const KeyFilter = consistent(z.object(paging(KEYS_LIST, 500, 500)));
export type KeyFilter = z.output<typeof KeyFilter>;

export const listKeys = operation({
  id: 'listKeys',
  method: 'get',
  path: '/api/keys',
  tag: 'API keys',
  summary: 'Keys of the tenant, newest first, including revoked ones.',
  scope: MAKERS,
  query: KeyFilter,
  response: z.object({ keys: z.array(KeyView), hasMore: z.boolean(), nextCursor: z.string().optional() }),
});

export const rotateKey = operation({
  id: 'rotateKey',
  method: 'post',
  path: '/api/keys/:id/rotate',
  tag: 'API keys',
  summary: 'Create a successor with the same rights and expiry. The old key works for another 24 hours.',
  scope: MAKERS,
  once: true,
  params: IdPath,
  headers: VersionHeaders,
  status: 201,
  versioned: true,
  response: NewKey.extend({
    previous: z.object({ id: z.string(), expiresAt: Instant.nullable(), version: z.int() }),
  }).meta({ id: 'RotatedApiKey' }),
  problems: [404, 409, 412],
});

export const revokeKey = operation({
  id: 'revokeKey',
  method: 'delete',
  path: '/api/keys/:id',
  tag: 'API keys',
  summary: 'Revoke a key: every instance rejects it within 5 seconds.',
  scope: MAKERS,
  params: IdPath,
  headers: VersionHeaders,
  response: z.object({ id: z.string(), revoked: z.literal(true) }),
  problems: [404, 409, 412],
});
