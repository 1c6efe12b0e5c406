import { displayName, Instant, PLATFORM_TENANT, TenantId } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
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
