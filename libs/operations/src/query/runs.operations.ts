import { ClientId, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { Amount, CommaList, commaListOf, consistent, IdPath, paging, timeRange } from '../parameters.ts';
import { AgentResult, LightTimelineEntry, Run, RunTotalsAnswer, TimelineEntry, ToolTotals } from './run.ts';
import { DecisionView } from './decisions.operations.ts';
import { RUN_STATUSES } from './sessions.operations.ts';
import { StoredEvent } from './events.operations.ts';

export const RUNS_LIST = 'runs';
export const RUN_EVENTS_LIST = 'run-events';
export const RUN_DECISIONS_LIST = 'run-decisions';
export const RUN_TIMELINE = 'run-timeline';

const page = { hasMore: z.boolean(), nextCursor: z.string().optional() };

const narrowing = {
  agentId: ClientId.optional(),
  status: commaListOf(RUN_STATUSES).optional(),
  sessionId: ClientId.optional().meta({ description: 'Runs of this group.' }),
  parentRunId: ClientId.optional(),
  actorId: ClientId.optional().meta({ description: '`externalId` of the actor.' }),
  tags: CommaList.optional().meta({
    description:
      'Comma-separated list; a run with any of them matches. `name=value` means a tag of the run as a whole.',
  }),
  model: ClientId.optional(),
  minCostUsd: Amount.optional(),
  maxCostUsd: Amount.optional(),
  ruleId: ClientId.optional().meta({ description: 'Runs for which this rule fired or decided.' }),
  ...timeRange,
};

const COSTS_IN_ORDER = { path: ['minCostUsd'], message: 'must not be more than "maxCostUsd"' };
const costsInOrder = ({ minCostUsd, maxCostUsd }: { minCostUsd?: number; maxCostUsd?: number }) =>
  minCostUsd === undefined || maxCostUsd === undefined || minCostUsd <= maxCostUsd;

export const RunFilter = consistent(z.object({ ...narrowing, ...paging(RUNS_LIST, 500) })).refine(
  costsInOrder,
  COSTS_IN_ORDER,
);
export type RunFilter = z.output<typeof RunFilter>;

export const listRuns = operation({
  id: 'listRuns',
  method: 'get',
  path: '/api/runs',
  tag: 'Runs',
  summary: 'Runs that started in the range, newest first.',
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
    agents: Facet.meta({ description: 'The 20 with the most runs.' }),
    models: Facet.meta({ description: 'The 20 with the most runs.' }),
    idle: z.int().meta({ description: 'Running, and nothing was heard of them for five minutes.' }),
    total: z.int(),
  })
  .meta({ id: 'RunFacets' });
export type RunFacets = z.infer<typeof RunFacets>;

export const getRunFacets = operation({
  id: 'getRunFacets',
  method: 'get',
  path: '/api/runs/facets',
  tag: 'Runs',
  summary: 'How many runs match, by status, agent and model. Takes the filters of the list of runs.',
  scope: 'read',
  query: RunFacetsQuery,
  response: RunFacets,
});

export const RunNotice = z
  .object({
    kind: z.literal('two_instrumentations'),
    agentId: z.string(),
    scopes: z.array(z.string()).meta({ description: 'The names of both instrumentations.' }),
    mayCountTwice: z.int().meta({ description: 'Model calls whose spans do not say that they are the same.' }),
  })
  .meta({
    id: 'RunNotice',
    description: 'What whoever runs the agent should know. Instrument the framework or the client.',
  });
export type RunNotice = z.infer<typeof RunNotice>;

export const RunDetail = Run.extend({
  tools: z.array(ToolTotals).meta({ description: 'The 100 tools called most.' }),
  summary: AgentResult,
  notices: z.array(RunNotice),
}).meta({ id: 'RunDetail' });

export const getRun = operation({
  id: 'getRun',
  method: 'get',
  path: '/api/runs/:id',
  tag: 'Runs',
  summary: 'One run: what it is, what its tools did, and what it came to.',
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
    'Deletes a run for good: its events, decisions, triggers, alerts, sealed calls and deliveries. Figures by agent and ' +
    'day stay. 409 while it runs: end or kill it first, or wait until it is idle. What still comes of it is dropped.',
  scope: 'admin',
  params: IdPath,
  query: z.strictObject({ reason: z.string().min(1).max(1000).optional() }),
  response: z.object({
    id: z.string(),
    deletedAt: Instant,
    complete: z.boolean().meta({ description: 'False: the rest is being removed in the background.' }),
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
  summary: 'The events of a run, oldest first.',
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
  summary: 'What was decided about the calls of a run, oldest first. A run may have decisions before its first event.',
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
    'The whole story of a run, oldest first: its events, decisions, triggers, alerts and what people made of them, ' +
    'and the operator order and breaker in force for it.',
  scope: 'read',
  params: IdPath,
  query: RunTimelineQuery,
  response: z.object({ entries: z.array(TimelineEntry), ...page }),
  problems: [404],
});

export const LightRunTimelineQuery = consistent(z.object(paging(RUN_TIMELINE, 5_000, 1_000)));
export type LightRunTimelineQuery = z.output<typeof LightRunTimelineQuery>;

export const getLightRunTimeline = operation({
  id: 'getLightRunTimeline',
  method: 'get',
  path: '/api/runs/:id/timeline/light',
  tag: 'Runs',
  summary:
    'The timeline of a run without what its events say: kinds, times, names, durations, tokens, costs, verdicts. Its cursors ' +
    'are those of the timeline, which has the whole entries.',
  scope: 'read',
  params: IdPath,
  query: LightRunTimelineQuery,
  response: z.object({ entries: z.array(LightTimelineEntry), ...page }),
  problems: [404],
});

export const TreeRun = Run.extend({
  depth: z.int().meta({ description: '0 for the run asked about.' }),
  childCount: z.int().meta({ description: 'Of those shown here.' }),
  rolledUp: RunTotalsAnswer.meta({ description: 'Of this run and every run below it.' }),
}).meta({ id: 'TreeRun' });

export const TraceAgent = z
  .object({
    spanId: z.string(),
    parentSpanId: z.string().optional().meta({ description: 'Of the agent around it.' }),
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
  .meta({ id: 'TraceAgent', description: 'An agent inside a run of spans, with the calls that it made itself.' });
export type TraceAgent = z.output<typeof TraceAgent>;

export const getRunTree = operation({
  id: 'getRunTree',
  method: 'get',
  path: '/api/runs/:id/tree',
  tag: 'Runs',
  summary: 'A run and the runs it started, and theirs: each parent before its children, with totals rolled up.',
  scope: 'read',
  params: IdPath,
  response: z.object({
    runs: z.array(TreeRun),
    truncated: z.boolean().meta({ description: 'There are more than 1,000 runs, or they nest deeper than 20.' }),
    agents: z
      .array(TraceAgent)
      .meta({ description: 'Agents inside the run asked about, where it is a trace: parents before their children.' }),
  }),
  problems: [404],
});
