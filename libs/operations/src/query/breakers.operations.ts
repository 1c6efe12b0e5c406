import {
  BREAKER_LIMIT_SCOPES,
  BREAKER_SCOPES,
  BreakerLimits,
  BreakerLimitsDraft,
  BreakerLimitsPatch,
  BreakerState,
  ClientId,
  Instant,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';
import { commaListOf, consistent, paging, scopedOrTrees } from '../parameters.ts';

export const BREAKERS_LIST = 'breakers';

const Limits = BreakerLimits.meta({ id: 'BreakerLimits' });

export const BreakerView = z
  .object({
    scope: z.enum(BREAKER_SCOPES),
    scopeId: z.string().meta({ description: 'Id of the run, of the agent, or of the topmost run of the tree.' }),
    agentId: z.string(),
    state: BreakerState,
    version: z.int(),
    changedAt: Instant,
  })
  .meta({ id: 'CircuitBreaker' });
export type BreakerView = z.infer<typeof BreakerView>;

export const BreakerFilter = consistent(
  z.object({
    scope: commaListOf(BREAKER_SCOPES).optional(),
    agentId: ClientId.optional(),
    state: commaListOf(['closed', 'open', 'half_open']).optional(),
    ...paging(BREAKERS_LIST, 200),
  }),
);
export type BreakerFilter = z.output<typeof BreakerFilter>;

export const listBreakers = operation({
  id: 'listBreakers',
  method: 'get',
  path: '/api/breakers',
  tag: 'Circuit breakers',
  summary: 'Breakers that have opened, most recently changed first. Others are closed and not listed.',
  scope: 'read',
  query: BreakerFilter,
  response: z.object({ breakers: z.array(BreakerView), hasMore: z.boolean(), nextCursor: z.string().optional() }),
});

export const getBreakerLimits = operation({
  id: 'getBreakerLimits',
  method: 'get',
  path: '/api/breakers/limits',
  tag: 'Circuit breakers',
  summary:
    'Limits that are set, and the defaults. Of a run, the nearest apply: run, agent, tenant, defaults. Those of `tree` ' +
    'apply to each run tree in addition.',
  scope: 'read',
  response: z.object({
    defaults: Limits,
    limits: z.array(
      z.object({
        scope: z.enum(BREAKER_LIMIT_SCOPES),
        scopeId: z.string(),
        limits: Limits,
        version: z.int().meta({ description: 'Increases by one with each change.' }),
        updatedAt: Instant,
      }),
    ),
  }),
});

const LimitsDraft = BreakerLimitsDraft.meta({ id: 'BreakerLimitsDraft' });

const changing = {
  scope: 'admin',
  headers: VersionHeaders,
  versioned: true,
  response: z.object({
    scope: z.enum(BREAKER_LIMIT_SCOPES),
    scopeId: z.string(),
    limits: Limits,
    version: z.int(),
  }),
  problems: [404, 412],
} as const;

export const setBreakerLimits = operation({
  id: 'setBreakerLimits',
  method: 'put',
  path: '/api/breakers/limits',
  tag: 'Circuit breakers',
  summary:
    'Set all limits of a tenant, agent or run, or of each run tree; omitted limits get their default. Breakers that are now below ' +
    'the limits close and keep counting.',
  ...changing,
  body: scopedOrTrees({ limits: LimitsDraft.prefault({}) }),
  examples: {
    oneAgent: { scope: 'agent', scopeId: 'researcher', limits: { maxIterations: 50, maxCostUsd: 2 } },
    tenant: { scope: 'tenant', limits: { maxTokens: 500_000 } },
    eachTree: { scope: 'tree', limits: { maxIterations: 200, maxCostUsd: 20 } },
  },
});

export const patchBreakerLimits = operation({
  id: 'patchBreakerLimits',
  method: 'patch',
  path: '/api/breakers/limits',
  tag: 'Circuit breakers',
  summary: 'Change some limits of a tenant, agent or run, or of each run tree.',
  ...changing,
  body: scopedOrTrees({ limits: BreakerLimitsPatch.meta({ id: 'BreakerLimitsPatch' }) }),
  examples: { oneAgent: { scope: 'agent', scopeId: 'researcher', limits: { maxTokens: 500_000 } } },
});

export const deleteBreakerLimits = operation({
  id: 'deleteBreakerLimits',
  method: 'delete',
  path: '/api/breakers/limits/:scope/:id',
  tag: 'Circuit breakers',
  summary: 'Remove the limits of a tenant, agent or run, so that the next nearest apply, or those of run trees.',
  scope: 'admin',
  params: z.object({ scope: z.enum(BREAKER_LIMIT_SCOPES, 'must be "tenant", "agent", "run" or "tree"'), id: ClientId }),
  headers: VersionHeaders,
  response: z.object({ ok: z.literal(true) }),
  problems: [404, 412],
});

export const resetBreaker = operation({
  id: 'resetBreaker',
  method: 'post',
  path: '/api/breakers/:scope/:id/reset',
  tag: 'Circuit breakers',
  summary: 'Close the breaker of a run, run tree or agent and restart its counters.',
  scope: 'admin',
  once: true,
  params: z.object({ scope: z.enum(BREAKER_SCOPES, 'must be "run", "tree" or "agent"'), id: ClientId }),
  response: z.object({ ok: z.literal(true) }),
  problems: [404],
});
