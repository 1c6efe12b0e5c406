import {
  BreakerLimits,
  BreakerLimitsDraft,
  BreakerLimitsPatch,
  BreakerState,
  ClientId,
  Instant,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';
import { commaListOf, consistent, paging, scoped } from '../parameters.ts';

export const BREAKERS_LIST = 'breakers';

const Limits = BreakerLimits.meta({ id: 'BreakerLimits' });

export const BreakerView = z
  .object({
    scope: z.enum(['run', 'agent']),
    scopeId: z.string(),
    agentId: z.string(),
    state: BreakerState,
    version: z.int(),
    changedAt: Instant,
  })
  .meta({ id: 'CircuitBreaker' });
export type BreakerView = z.infer<typeof BreakerView>;

export const BreakerFilter = consistent(
  z.object({
    scope: commaListOf(['run', 'agent']).optional(),
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
  summary:
    'Breakers that ever opened, the one that changed last first. One that never opened is closed and not listed.',
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
    'The limits that were set, and the defaults. The nearest applies: run, then agent, then tenant, then defaults.',
  scope: 'read',
  response: z.object({
    defaults: Limits,
    limits: z.array(
      z.object({
        scope: z.enum(['tenant', 'agent', 'run']),
        scopeId: z.string(),
        limits: Limits,
        version: z.int().meta({ description: 'Raised by one with each change.' }),
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
    scope: z.enum(['tenant', 'agent', 'run']),
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
    'Sets the limits of a tenant, an agent or a run, as a whole: what is left out gets its default. Breakers that are below ' +
    'the limits now close, and go on counting.',
  ...changing,
  body: scoped({ limits: LimitsDraft.prefault({}) }),
  examples: {
    oneAgent: { scope: 'agent', scopeId: 'researcher', limits: { maxIterations: 50, maxCostUsd: 2 } },
    tenant: { scope: 'tenant', limits: { maxTokens: 500_000 } },
  },
});

export const patchBreakerLimits = operation({
  id: 'patchBreakerLimits',
  method: 'patch',
  path: '/api/breakers/limits',
  tag: 'Circuit breakers',
  summary: 'Changes some of the limits that are set for a tenant, an agent or a run; the others stay.',
  ...changing,
  body: scoped({ limits: BreakerLimitsPatch.meta({ id: 'BreakerLimitsPatch' }) }),
  examples: { oneAgent: { scope: 'agent', scopeId: 'researcher', limits: { maxTokens: 500_000 } } },
});

export const deleteBreakerLimits = operation({
  id: 'deleteBreakerLimits',
  method: 'delete',
  path: '/api/breakers/limits/:scope/:id',
  tag: 'Circuit breakers',
  summary: 'Takes the limits of a tenant, an agent or a run away: the next nearest ones apply, at last the defaults.',
  scope: 'admin',
  params: z.object({ scope: z.enum(['tenant', 'agent', 'run'], 'must be "tenant", "agent" or "run"'), id: ClientId }),
  headers: VersionHeaders,
  response: z.object({ ok: z.literal(true) }),
  problems: [404, 412],
});

export const resetBreaker = operation({
  id: 'resetBreaker',
  method: 'post',
  path: '/api/breakers/:scope/:id/reset',
  tag: 'Circuit breakers',
  summary: 'Closes the breaker of a run or an agent and lets it start counting again.',
  scope: 'admin',
  once: true,
  params: z.object({ scope: z.enum(['run', 'agent'], 'must be "run" or "agent"'), id: ClientId }),
  response: z.object({ ok: z.literal(true) }),
  problems: [404],
});
