import {
  ClientId,
  CONTROL_SCOPES,
  ControlOrder,
  Instant,
  type Scope,
  TENANT_SCOPES,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';
import { commaListOf, consistent, paging, scoped } from '../parameters.ts';

/** An operator's order. */
export const OrderView = ControlOrder.meta({ id: 'ControlOrder' });

export const CONTROL_LIST = 'control';
const STATES = ['running', 'paused', 'killed'] as const;
const LONGEST_WAIT_MS = 10_000;

const receipts = {
  acknowledged: z.int().meta({ description: 'Connected instances that acknowledged the order.' }),
  fastestMs: z.number().nullable().meta({ description: 'Time from the order to the first acknowledgement.' }),
  slowestMs: z.number().nullable().meta({ description: 'Time from the order to the last acknowledgement so far.' }),
};

export const createOrder = operation({
  id: 'createOrder',
  method: 'post',
  path: '/api/control',
  tag: 'Control',
  summary:
    'Kill, pause or resume (running) a run, an agent or the tenant. It stands until the next order for the same scope, ' +
    'also for runs that start later. Decisions enforce it immediately, acknowledged or not.',
  scope: ['admin', 'operate'],
  once: true,
  headers: VersionHeaders,
  versioned: 'order',
  body: scoped({
    state: z.enum(STATES),
    reason: z.string().max(1_000, 'must be at most 1000 characters').default(''),
    waitMs: z.int().min(0).max(LONGEST_WAIT_MS).default(1_000).meta({
      description: 'Time to wait for acknowledgements of all connected instances.',
    }),
  }),
  examples: {
    killRun: { scope: 'run', scopeId: 'run-1', state: 'killed', reason: 'It loops' },
    pauseTenant: { scope: 'tenant', state: 'paused', reason: 'Maintenance' },
    resumeAgent: { scope: 'agent', scopeId: 'researcher', state: 'running' },
  },
  response: z.object({
    order: OrderView,
    connected: z.int().nullable().meta({
      description: 'Listening instances that should acknowledge; null if unknown.',
    }),
    ...receipts,
    unknownScope: z.literal(true).optional().meta({
      description: 'True if this run or agent is unknown: the order applies when it appears, or the id is misspelt.',
    }),
    hint: z.string().optional().meta({ description: 'What to do about an unknown scope.' }),
  }),
  problems: [404, 412],
});

export const ControlFilter = consistent(
  z.object({
    scope: commaListOf(CONTROL_SCOPES).optional(),
    scopeId: ClientId.optional().meta({ description: 'Run, agent or tenant.' }),
    id: ClientId.optional().meta({ description: 'Deprecated alias of scopeId.' }),
    state: commaListOf(STATES).optional(),
    ...paging(CONTROL_LIST, 200),
  }),
).refine(({ scopeId, id = scopeId }) => scopeId === undefined || id === scopeId, {
  path: ['scopeId'],
  message: 'differs from "id": send one of them',
});
export type ControlFilter = z.output<typeof ControlFilter>;

export const listOrders = operation({
  id: 'listOrders',
  method: 'get',
  path: '/api/control',
  tag: 'Control',
  summary: 'Standing orders, newest first, with acknowledgements. state=paused,killed lists what is stopped.',
  scope: 'read',
  query: ControlFilter,
  response: z.object({
    orders: z.array(ControlOrder.extend(receipts).meta({ id: 'StandingOrder' })),
    hasMore: z.boolean(),
    nextCursor: z.string().optional(),
  }),
});

/** State of an agent or run: the most severe of orders, pauses by rules and open breakers. */
export const ControlStateView = z
  .object({
    state: z.enum(['running', 'paused', 'killed', 'breaker_open']),
    source: z.enum(['order', 'rule', 'breaker']).optional().meta({ description: 'Cause of the state.' }),
    scope: z
      .enum([...CONTROL_SCOPES, 'tree'])
      .optional()
      .meta({ description: 'Scope of the order or breaker; for a run also its agent, tenant, parent or run tree.' }),
    scopeId: z.string().optional(),
    by: z.string().optional().meta({ description: 'Author of the order, or name of the rule.' }),
    reason: z.string().optional(),
    since: Instant.optional(),
  })
  .meta({ id: 'ControlState', description: 'Only `state` if it is `running`.' });
export type ControlStateView = z.infer<typeof ControlStateView>;

/** Scope names of AgentLens keys and their equivalents. */
const ALIASES: Readonly<Record<string, readonly Scope[]>> = {
  '*': ['admin'],
  manage: ['admin'],
  write: ['ingest', 'decide'],
  audit: ['read'],
};

const NAMES = [...TENANT_SCOPES, ...Object.keys(ALIASES)];

/** Scopes of a new key, or the AgentLens names `*`, `manage` (admin), `write` (ingest, decide) and `audit` (read). */
export const ScopeNames = z
  .array(z.enum(NAMES, `must be one of ${NAMES.join(', ')}`))
  .min(1, 'must name at least one scope')
  .max(NAMES.length)
  .transform((names): Scope[] => TENANT_SCOPES.filter((scope) => names.some((name) => meanings(name).includes(scope))))
  .meta({
    description: `Any of ${TENANT_SCOPES.join(', ')}; also * and manage (admin), write (ingest, decide), audit (read).`,
  });

function meanings(name: string): readonly string[] {
  return ALIASES[name] ?? [name];
}
