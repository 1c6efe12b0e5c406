import { DECISION_PATHS, displayName, Instant, PLATFORM_TENANT, TenantId } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';
import { consistent, paging } from '../parameters.ts';

export const TENANT_LIST = 'tenants';

const shown = {
  id: TenantId,
  name: z.string(),
  createdAt: Instant,
};

const TenantView = z.object(shown).meta({ id: 'Tenant' });
export type TenantView = z.infer<typeof TenantView>;

export const createTenant = operation({
  id: 'createTenant',
  method: 'post',
  path: '/api/tenants',
  tag: 'Tenants',
  summary:
    "Create a tenant and its first admin key, which is only in this answer. Tenants never see each other's data.",
  scope: 'platform',
  once: true,
  body: z.strictObject({
    id: TenantId.refine((id) => id !== PLATFORM_TENANT, `"${PLATFORM_TENANT}" is reserved`),
    name: displayName(z.string().trim()).optional().meta({ description: 'Default: the id.' }),
  }),
  status: 201,
  response: z
    .object({
      ...shown,
      adminKey: z.object({
        id: z.string(),
        key: z.string().meta({ description: 'The key, shown only here.' }),
      }),
    })
    .meta({ id: 'NewTenant' }),
  problems: [409],
});

export const TenantFilter = consistent(z.object(paging(TENANT_LIST, 200)));
export type TenantFilter = z.output<typeof TenantFilter>;

export const listTenants = operation({
  id: 'listTenants',
  method: 'get',
  path: '/api/tenants',
  tag: 'Tenants',
  summary: 'Tenants of this platform, newest first. Their data is visible only to their own keys.',
  scope: 'platform',
  query: TenantFilter,
  response: z.object({
    tenants: z.array(TenantView),
    hasMore: z.boolean(),
    nextCursor: z.string().optional(),
  }),
});

const fields = {
  decisionFailMode: z.enum(['allow', 'block']).meta({
    description: 'What happens to a call that cannot be evaluated in time.',
  }),
  decisionPath: z.enum(DECISION_PATHS).meta({
    description:
      '`gateway`: a gateway decides what it can prove to be the answer of the evaluator. `evaluator`: it asks about every call.',
  }),
  defaultBreaker: z.enum(['on', 'off']).meta({
    description: 'Whether runs without their own limits have a circuit breaker with the default limits.',
  }),
  decisionArguments: z.enum(['none', 'redacted']).meta({
    description: "Whether decisions record the call's arguments, redacted.",
  }),
  deniedCalls: z.enum(['deny', 'ask']).meta({
    description:
      'What happens if a run repeats a call (tool and arguments) that a person denied: `deny` blocks it with the same reason, `ask` requests approval again.',
  }),
  contentRetentionDays: z
    .int()
    .min(1)
    .max(3650)
    .nullable()
    .meta({
      description:
        'Days after which payloads, arguments and results are removed; counts, costs and times are kept. Null: kept as ' +
        'long as the events.',
    }),
};

const Settings = z
  .object({ ...fields, version: z.int().meta({ description: 'Increases by one with each change.' }) })
  .meta({ id: 'TenantSettings' });
export type TenantSettings = z.infer<typeof Settings>;

const Patch = z.strictObject(fields).partial().meta({ id: 'TenantSettingsPatch' });
export type TenantSettingsPatch = z.infer<typeof Patch>;

export const getSettings = operation({
  id: 'getSettings',
  method: 'get',
  path: '/api/settings',
  tag: 'Settings',
  summary: 'Settings of the tenant.',
  scope: 'read',
  response: Settings,
  versioned: true,
});

const { decisionFailMode, ...later } = fields;

export const updateSettings = operation({
  id: 'updateSettings',
  method: 'put',
  path: '/api/settings',
  tag: 'Settings',
  summary:
    'Set the settings of the tenant, effective everywhere within 5 seconds. Omitted settings other than decisionFailMode are unchanged.',
  scope: 'admin',
  headers: VersionHeaders,
  problems: [412],
  body: z.strictObject({ decisionFailMode, ...z.object(later).partial().shape }).meta({ id: 'TenantSettingsDraft' }),
  response: Settings,
  versioned: true,
});

export const patchSettings = operation({
  id: 'patchSettings',
  method: 'patch',
  path: '/api/settings',
  tag: 'Settings',
  summary: 'Change some settings of the tenant, effective everywhere within 5 seconds.',
  scope: 'admin',
  headers: VersionHeaders,
  problems: [412],
  body: Patch,
  response: Settings,
  versioned: true,
});
