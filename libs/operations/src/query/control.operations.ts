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

/** An operator's order as it is shown. */
export const OrderView = ControlOrder.meta({ id: 'ControlOrder' });

export const CONTROL_LIST = 'control';
const STATES = ['running', 'paused', 'killed'] as const;
const LONGEST_WAIT_MS = 10_000;

const receipts = {
  acknowledged: z.int().meta({ description: 'Connected instances that said they took the order.' }),
  fastestMs: z.number().nullable().meta({ description: 'From the order to the first acknowledgement.' }),
  slowestMs: z.number().nullable().meta({ description: 'From the order to the last acknowledgement so far.' }),
};

export const createOrder = operation({
  id: 'createOrder',
  method: 'post',
  path: '/api/control',
  tag: 'Control',
  summary:
    'Kills, pauses or resumes (running) a run, an agent or the whole tenant. It stands until the next order for the same, ' +
    'for runs that start later too. Decisions enforce it from now on, whether or not an agent acknowledges.',
  scope: 'admin',
  once: true,
  headers: VersionHeaders,
  versioned: 'order',
  body: scoped({
    state: z.enum(STATES),
    reason: z.string().max(1_000, 'must be at most 1000 characters').default(''),
    waitMs: z.int().min(0).max(LONGEST_WAIT_MS).default(1_000).meta({
      description: 'How long to wait for the acknowledgements of all connected instances.',
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
      description: 'Agent instances that listen now and should acknowledge; null while that cannot be known.',
    }),
    ...receipts,
    unknownScope: z.literal(true).optional().meta({
      description: 'Nobody has heard of this run or agent: the order stands for when it comes, or its id is misspelt.',
    }),
    hint: z.string().optional().meta({ description: 'What to do about an unknown scope.' }),
  }),
  problems: [404, 412],
});

export const ControlFilter = consistent(
  z.object({
    scope: commaListOf(CONTROL_SCOPES).optional(),
    scopeId: ClientId.optional().meta({ description: 'The run, agent or tenant.' }),
    id: ClientId.optional().meta({ description: 'The same as scopeId, from before.' }),
    state: commaListOf(STATES).optional(),
    ...paging(CONTROL_LIST, 200),
  }),
).refine(({ scopeId, id = scopeId }) => scopeId === undefined || id === scopeId, {
  path: ['scopeId'],
  message: 'names another than "id": send one of them',
});
export type ControlFilter = z.output<typeof ControlFilter>;

export const listOrders = operation({
  id: 'listOrders',
  method: 'get',
  path: '/api/control',
  tag: 'Control',
  summary: 'The standing orders, newest first, with who took them. state=paused,killed shows what is held now.',
  scope: 'read',
  query: ControlFilter,
  response: z.object({
    orders: z.array(ControlOrder.extend(receipts).meta({ id: 'StandingOrder' })),
    hasMore: z.boolean(),
    nextCursor: z.string().optional(),
  }),
});

/** What stands against an agent or a run now: the most severe of orders, of pauses by rules and of open breakers. */
export const ControlStateView = z
  .object({
    state: z.enum(['running', 'paused', 'killed', 'breaker_open']),
    source: z.enum(['order', 'rule', 'breaker']).optional().meta({ description: 'What put it there.' }),
    scope: z
      .enum(CONTROL_SCOPES)
      .optional()
      .meta({ description: 'Of what: of a run also its agent, its tenant, its parent.' }),
    scopeId: z.string().optional(),
    by: z.string().optional().meta({ description: 'Who gave the order, or the name of the rule.' }),
    reason: z.string().optional(),
    since: Instant.optional(),
  })
  .meta({ id: 'ControlState', description: 'Only `state` where it is `running`.' });
export type ControlStateView = z.infer<typeof ControlStateView>;

/** Scope names of AgentLens keys, as ours. */
const ALIASES: Readonly<Record<string, readonly Scope[]>> = {
  '*': ['admin'],
  manage: ['admin'],
  write: ['ingest', 'decide'],
  audit: ['read'],
};

const NAMES = [...TENANT_SCOPES, ...Object.keys(ALIASES)];

/** Scopes of a new key: ours, or the AgentLens names `*`, `manage` (admin), `write` (ingest, decide) and `audit` (read). */
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
