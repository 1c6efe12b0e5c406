import { ClientId, Instant, LabelName, StandingLabel, TreeLimits, TreeLimitsDraft } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';
import {
  Amount,
  CommaList,
  commaListOf,
  consistent,
  Flag,
  IdPath,
  paging,
  SearchText,
  timeRange,
} from '../parameters.ts';
import { DecisionView } from './decisions.operations.ts';
import { StoredEvent } from './events.operations.ts';
import { AgentResult, LightTimelineEntry, Run, RunTotalsAnswer, TimelineEntry, ToolTotals } from './run.ts';
import { RUN_STATUSES } from './sessions.operations.ts';

export const RUNS_LIST = 'runs';
export const RUN_EVENTS_LIST = 'run-events';
export const RUN_DECISIONS_LIST = 'run-decisions';
export const RUN_TIMELINE = 'run-timeline';

const page = { hasMore: z.boolean(), nextCursor: z.string().optional() };

const Milliseconds = z
  .string()
  .regex(/^\d{1,12}$/, 'must be a whole number of milliseconds')
  .transform(Number)
  .meta({ type: 'integer', minimum: 0, maximum: 999_999_999_999 });

const narrowing = {
  agentId: ClientId.optional(),
  status: commaListOf(RUN_STATUSES).optional(),
  sessionId: ClientId.optional().meta({ description: 'Runs of this group.' }),
  parentRunId: ClientId.optional(),
  actorId: ClientId.optional().meta({ description: '`externalId` of the actor.' }),
  tags: CommaList.optional().meta({
    description: 'Comma-separated list; runs with any of them match. `name=value` is a tag of the run as a whole.',
  }),
  tagsAll: CommaList.optional().meta({
    description: 'Like `tags`, but only runs with all of them match, such as `project=shop,branch=main`.',
  }),
  model: ClientId.optional(),
  minCostUsd: Amount.optional(),
  maxCostUsd: Amount.optional(),
  minDurationMs: Milliseconds.optional(),
  maxDurationMs: Milliseconds.optional(),
  hasError: Flag.optional().meta({ description: '`true`: runs that failed or hold an error event.' }),
  wasBlocked: Flag.optional().meta({ description: '`true`: runs with a blocked call.' }),
  search: SearchText.min(1)
    .max(200)
    .optional()
    .meta({ description: 'Runs whose id, agent, session, actor or tags contain this text, in any case.' }),
  ruleId: ClientId.optional().meta({ description: 'Runs in which this rule fired or decided.' }),
  ...timeRange,
};

const COSTS_IN_ORDER = { path: ['minCostUsd'], message: 'must not be more than "maxCostUsd"' };
const costsInOrder = ({ minCostUsd, maxCostUsd }: { minCostUsd?: number; maxCostUsd?: number }) =>
  minCostUsd === undefined || maxCostUsd === undefined || minCostUsd <= maxCostUsd;

export const RUN_SORTS = ['started', 'duration', 'cost', 'tokens', 'steps', 'errors'] as const;
export type RunSort = (typeof RUN_SORTS)[number];

export const RunFilter = consistent(
  z.object({
    ...narrowing,
    sort: z.enum(RUN_SORTS, `must be one of ${RUN_SORTS.join(', ')}`).default('started'),
    order: z.enum(['desc', 'asc'], 'must be desc or asc').default('desc'),
    ...paging(RUNS_LIST, 500),
  }),
).refine(costsInOrder, COSTS_IN_ORDER);
export type RunFilter = z.output<typeof RunFilter>;

export const listRuns = operation({
  id: 'listRuns',
  method: 'get',
  path: '/api/runs',
  tag: 'Runs',
  summary:
    'Runs that started in the range, newest first, or in the order of `sort`. A cursor belongs to its sort and order.',
  scope: 'read',
  query: RunFilter,
  response: z.object({ runs: z.array(Run), ...page }),
});

export const RunFacetsQuery = consistent(z.object(narrowing)).refine(costsInOrder, COSTS_IN_ORDER);
export type RunFacetsQuery = z.output<typeof RunFacetsQuery>;

const Facet = z.array(z.object({ value: z.string(), runs: z.int() }));

export const RunFacets = z
  .object({
    statuses: Facet,
    agents: Facet.meta({ description: 'Top 20 by number of runs.' }),
    models: Facet.meta({ description: 'Top 20 by number of runs.' }),
    tags: Facet.meta({ description: 'Top 50 by number of runs; tags of a run as a whole as `name=value`.' }),
    idle: z.int().meta({ description: 'Running runs without an event for five minutes.' }),
    total: z.int(),
  })
  .meta({ id: 'RunFacets' });
export type RunFacets = z.infer<typeof RunFacets>;

export const getRunFacets = operation({
  id: 'getRunFacets',
  method: 'get',
  path: '/api/runs/facets',
  tag: 'Runs',
  summary: 'Number of matching runs by status, agent, model and tag. Takes the filters of the run list.',
  scope: 'read',
  query: RunFacetsQuery,
  response: RunFacets,
});

/** The decision after which a run went no further. */
export const RunEndedBy = z
  .object({
    decisionId: z.string(),
    reason: z.string().nullable().meta({ description: 'As in the decision: rule, breaker, order, budget, ...' }),
    ruleId: z.string().optional(),
    message: z.string(),
    at: Instant,
  })
  .meta({ id: 'RunEndedBy', description: 'The refusal that ended the run; null if no decision did.' });
export type RunEndedBy = z.infer<typeof RunEndedBy>;

export const RunNotice = z
  .object({
    kind: z.literal('two_instrumentations'),
    agentId: z.string(),
    scopes: z.array(z.string()).meta({ description: 'Names of both instrumentations.' }),
    mayCountTwice: z.int().meta({ description: 'Model calls whose spans cannot be recognised as duplicates.' }),
  })
  .meta({
    id: 'RunNotice',
    description: 'Message for the operator: instrument the framework or the client, not both.',
  });
export type RunNotice = z.infer<typeof RunNotice>;

export const RunDetail = Run.extend({
  tools: z.array(ToolTotals).meta({ description: 'The 100 most called tools.' }),
  summary: AgentResult,
  notices: z.array(RunNotice),
  endedBy: RunEndedBy.nullable(),
}).meta({ id: 'RunDetail' });

export const getRun = operation({
  id: 'getRun',
  method: 'get',
  path: '/api/runs/:id',
  tag: 'Runs',
  summary: 'A run with its tools and result.',
  scope: 'read',
  params: IdPath,
  response: RunDetail,
  problems: [404],
});

export const deleteRun = operation({
  id: 'deleteRun',
  method: 'delete',
  path: '/api/runs/:id',
  tag: 'Runs',
  summary:
    'Delete a run permanently: events, decisions, triggers, alerts, encrypted calls and deliveries. Totals by agent and ' +
    'day are kept. 409 while it runs: end or kill it first, or wait until it is idle. Later events are dropped.',
  scope: 'admin',
  params: IdPath,
  query: z.strictObject({ reason: z.string().min(1).max(1000).optional() }),
  response: z.object({
    id: z.string(),
    deletedAt: Instant,
    complete: z.boolean().meta({ description: '`false` if deletion continues in the background.' }),
  }),
  problems: [404, 409],
});

export const RunEventsQuery = consistent(z.object(paging(RUN_EVENTS_LIST, 1000, 100)));
export type RunEventsQuery = z.output<typeof RunEventsQuery>;

export const listRunEvents = operation({
  id: 'listRunEvents',
  method: 'get',
  path: '/api/runs/:id/events',
  tag: 'Runs',
  summary: 'Events of a run, oldest first.',
  scope: 'read',
  params: IdPath,
  query: RunEventsQuery,
  response: z.object({ events: z.array(StoredEvent), ...page }),
  problems: [404],
});

export const RunDecisionsQuery = consistent(z.object(paging(RUN_DECISIONS_LIST, 500, 100)));
export type RunDecisionsQuery = z.output<typeof RunDecisionsQuery>;

export const listRunDecisions = operation({
  id: 'listRunDecisions',
  method: 'get',
  path: '/api/runs/:id/decisions',
  tag: 'Runs',
  summary: 'Decisions about the calls of a run, oldest first. Decisions can exist before the first event.',
  scope: 'read',
  params: IdPath,
  query: RunDecisionsQuery,
  response: z.object({ decisions: z.array(DecisionView), ...page }),
  problems: [404],
});

export const RunTimelineQuery = consistent(z.object(paging(RUN_TIMELINE, 500, 200)));
export type RunTimelineQuery = z.output<typeof RunTimelineQuery>;

export const getRunTimeline = operation({
  id: 'getRunTimeline',
  method: 'get',
  path: '/api/runs/:id/timeline',
  tag: 'Runs',
  summary:
    'Timeline of a run, oldest first: events, decisions, triggers, alerts and their decisions, ' +
    'and the order and breaker in force.',
  scope: 'read',
  params: IdPath,
  query: RunTimelineQuery,
  response: z.object({ entries: z.array(TimelineEntry), ...page }),
  problems: [404],
});

export const LightRunTimelineQuery = consistent(z.object(paging(RUN_TIMELINE, 6_000, 1_000)));
export type LightRunTimelineQuery = z.output<typeof LightRunTimelineQuery>;

export const getLightRunTimeline = operation({
  id: 'getLightRunTimeline',
  method: 'get',
  path: '/api/runs/:id/timeline/light',
  tag: 'Runs',
  summary:
    'Timeline of a run without event contents: kinds, times, names, durations, tokens, costs, verdicts. Cursors are ' +
    'shared with the full timeline.',
  scope: 'read',
  params: IdPath,
  query: LightRunTimelineQuery,
  response: z.object({ entries: z.array(LightTimelineEntry), ...page }),
  problems: [404],
});

export const TreeRun = Run.extend({
  depth: z.int().meta({ description: '0 for the requested run.' }),
  childCount: z.int().meta({ description: 'Number of child runs in this response.' }),
  rolledUp: RunTotalsAnswer.meta({ description: 'Totals of this run and all runs below it.' }),
}).meta({ id: 'TreeRun' });

export const TraceAgent = z
  .object({
    spanId: z.string(),
    parentSpanId: z.string().optional().meta({ description: 'Span of the enclosing agent.' }),
    name: z.string(),
    depth: z.int().meta({ description: '0 for an agent directly in the run.' }),
    status: z.enum(['succeeded', 'failed']),
    startedAt: Instant,
    endedAt: Instant,
    llmCalls: z.int(),
    toolCalls: z.int(),
    errors: z.int(),
    inputTokens: z.number(),
    outputTokens: z.number(),
    costUsd: z.number(),
  })
  .meta({ id: 'TraceAgent', description: 'An agent inside a traced run, with its own calls.' });
export type TraceAgent = z.output<typeof TraceAgent>;

export const getRunTree = operation({
  id: 'getRunTree',
  method: 'get',
  path: '/api/runs/:id/tree',
  tag: 'Runs',
  summary: 'A run and its sub-runs, each parent before its children, with totals rolled up.',
  scope: 'read',
  params: IdPath,
  response: z.object({
    runs: z.array(TreeRun),
    truncated: z.boolean().meta({ description: 'True beyond 1,000 runs or 20 levels.' }),
    agents: z.array(TraceAgent).meta({ description: 'Agents inside a traced run, parents before their children.' }),
  }),
  problems: [404],
});

const RunLabel = StandingLabel.meta({ id: 'RunLabel' });

export const getRunLabels = operation({
  id: 'getRunLabels',
  method: 'get',
  path: '/api/runs/:id/labels',
  tag: 'Runs',
  summary: 'Labels that stand on the tree of a run or for its session, with the call that set each first.',
  scope: ['read', 'review'],
  params: IdPath,
  response: z.object({
    root: z.string().meta({ description: 'The topmost known run of the tree.' }),
    labels: z.array(RunLabel),
  }),
  problems: [404],
});

export const clearRunLabel = operation({
  id: 'clearRunLabel',
  method: 'delete',
  path: '/api/runs/:id/labels/:label',
  tag: 'Runs',
  summary:
    'Clear a label of the tree of a run and of its session, so that its rules no longer match. Recorded in the audit log.',
  scope: 'review',
  params: IdPath.extend({ label: LabelName }),
  body: z.strictObject({ reason: z.string().min(1).max(1000) }),
  response: z.object({ ok: z.literal(true) }),
  problems: [404],
});

const StoredTreeLimits = z
  .object({
    scope: z.literal('tenant'),
    limits: TreeLimits.meta({ id: 'TreeLimits' }),
    version: z.int().meta({ description: 'Increases by one with each change; 0 if limits were never set.' }),
  })
  .meta({ id: 'StoredTreeLimits' });
export type StoredTreeLimits = z.infer<typeof StoredTreeLimits>;

export const getTreeLimits = operation({
  id: 'getTreeLimits',
  method: 'get',
  path: '/api/trees/limits',
  tag: 'Runs',
  summary: 'Limits of the run trees of the tenant. Null: no limit.',
  scope: 'read',
  response: StoredTreeLimits,
  versioned: true,
});

export const setTreeLimits = operation({
  id: 'setTreeLimits',
  method: 'put',
  path: '/api/trees/limits',
  tag: 'Runs',
  summary:
    'Set all limits of the run trees of the tenant, effective everywhere within 5 seconds; omitted limits are removed. ' +
    'Runs beyond a limit are locked down at their start. Runs that started before count only for the depth.',
  scope: 'admin',
  headers: VersionHeaders,
  problems: [412],
  body: z
    .strictObject({
      scope: z.literal('tenant', 'must be "tenant"').default('tenant'),
      limits: TreeLimitsDraft.meta({ id: 'TreeLimitsDraft' }),
    })
    .meta({ id: 'TreeLimitsChange' }),
  examples: { tenant: { scope: 'tenant', limits: { maxDepth: 5, maxChildren: 20, maxRuns: 200 } } },
  response: StoredTreeLimits,
  versioned: true,
});
