import { displayName, Instant, PLATFORM_TENANT, TenantId } from '@agentlens/contracts/schemas';
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
    'Makes a tenant and its first admin key, which is in this answer and nowhere else. Nothing of one tenant is visible in another.',
  scope: 'platform',
  once: true,
  body: z.strictObject({
    id: TenantId.refine((id) => id !== PLATFORM_TENANT, `"${PLATFORM_TENANT}" is reserved`),
    name: displayName(z.string().trim()).optional().meta({ description: 'Absent: the id.' }),
  }),
  status: 201,
  response: z
    .object({
      ...shown,
      adminKey: z.object({
        id: z.string(),
        key: z.string().meta({ description: 'The key itself. It is shown only here.' }),
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
  summary: 'The tenants of this platform, newest first. What is in them is for their own keys only.',
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
    description: 'What happens to a call that nobody could judge in time, because the evaluator is away.',
  }),
  defaultBreaker: z.enum(['on', 'off']).meta({
    description: 'Whether the circuit breaker watches runs for which nobody set limits, by the default limits.',
  }),
  decisionArguments: z.enum(['none', 'redacted']).meta({
    description: 'Whether decisions keep the arguments of the call, with secrets and personal data taken out.',
  }),
  contentRetentionDays: z
    .int()
    .min(1)
    .max(3650)
    .nullable()
    .meta({
      description:
        'After so many days payloads, arguments and results are removed; counts, costs and times stay. Null: they are kept as ' +
        'long as the events.',
    }),
};

const Settings = z
  .object({ ...fields, version: z.int().meta({ description: 'Raised by one with each change.' }) })
  .meta({ id: 'TenantSettings' });
export type TenantSettings = z.infer<typeof Settings>;

const Patch = z.strictObject(fields).partial().meta({ id: 'TenantSettingsPatch' });
export type TenantSettingsPatch = z.infer<typeof Patch>;

export const getSettings = operation({
  id: 'getSettings',
  method: 'get',
  path: '/api/settings',
  tag: 'Settings',
  summary: 'What holds for the whole tenant.',
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
    'Sets what holds for the whole tenant; in force everywhere within 5 seconds. What was added after decisionFailMode stays as it is where it is left out.',
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
  summary: 'Changes some of what holds for the whole tenant; in force everywhere within 5 seconds.',
  scope: 'admin',
  headers: VersionHeaders,
  problems: [412],
  body: Patch,
  response: Settings,
  versioned: true,
});
