import { AgentTool, ClientId, Instant, RearmedRule } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { consistent, Flag, IdPath, paging, wholeNumber } from '../parameters.ts';
import { ControlStateView } from './control.operations.ts';

export const Agent = z
  .object({
    id: z.string(),
    tenantId: z.string(),
    name: z.string(),
    description: z.string().optional(),
    slug: z.string().optional().meta({ description: 'Set for agents that registered themselves.' }),
    tags: z.array(z.string()).meta({ description: 'As registered.' }),
    tools: z.array(AgentTool).meta({ description: 'Registered tools, by name.' }),
    firstSeenAt: Instant,
    lastSeenAt: Instant,
    sessionCount: z.int(),
    eventCount: z.int(),
    errorCount: z.int(),
    totalCostUsd: z.number(),
    unpricedCalls: z.int().meta({
      description: 'Model calls of its 20 newest runs without a known cost, not included in totalCostUsd.',
    }),
    control: ControlStateView,
    pausedAt: Instant.optional().meta({ description: 'Set while a rule pauses the agent.' }),
    pauseReason: z.string().optional(),
    modelOverride: z.string().optional().meta({ description: 'Model the agent must use instead of its own.' }),
    modelOverrideReason: z.string().optional(),
  })
  .meta({ id: 'Agent' });
export type Agent = z.infer<typeof Agent>;

export const AGENTS_LIST = 'agents';

export const AgentFilter = consistent(
  z.object({
    paused: Flag.optional().meta({
      description: 'Only agents that are (or are not) paused, by a rule or by an order for the agent or tenant.',
    }),
    ...paging(AGENTS_LIST, 500, 500),
  }),
);
export type AgentFilter = z.output<typeof AgentFilter>;

export const listAgents = operation({
  id: 'listAgents',
  method: 'get',
  path: '/api/agents',
  tag: 'Agents',
  summary: 'Agents, most recently active first. An agent exists from its first event.',
  scope: 'read',
  query: AgentFilter,
  response: z.object({
    agents: z.array(Agent),
    total: z.int(),
    hasMore: z.boolean(),
    nextCursor: z.string().optional(),
  }),
});

export const getAgent = operation({
  id: 'getAgent',
  method: 'get',
  path: '/api/agents/:id',
  tag: 'Agents',
  summary: 'An agent and its current orders. Send "/" in its id as %2F.',
  scope: 'read',
  params: IdPath,
  response: Agent,
  problems: [404],
});

export const unpauseAgent = operation({
  id: 'unpauseAgent',
  method: 'put',
  path: '/api/agents/:id/unpause',
  tag: 'Agents',
  summary:
    'End the pause of an agent and, on request, its model override. Rules in cooldown for it can pause it again ' +
    "immediately (`rearmed`). 409 while an operator's order stands: resume with POST /api/control.",
  scope: ['admin', 'operate'],
  params: IdPath,
  body: z.strictObject({ clearModelOverride: z.boolean().default(false) }).default({ clearModelOverride: false }),
  response: Agent.extend({ rearmed: z.array(RearmedRule) }),
  problems: [404, 409],
});

export const AgentHealth = z
  .object({
    agentId: z.string(),
    overallScore: z.number().min(0).max(100),
    trend: z.enum(['improving', 'stable', 'degrading']),
    trendDelta: z
      .number()
      .meta({ description: 'Difference to the previous window of the same length; 0 without one.' }),
    dimensions: z.array(
      z.object({
        name: z.string(),
        score: z.number(),
        weight: z.number(),
        rawValue: z.number().nullable(),
        description: z.string(),
      }),
    ),
    window: z.object({ from: Instant, to: Instant }),
    sessionCount: z.int(),
    computedAt: Instant,
  })
  .meta({ id: 'AgentHealth' });
export type AgentHealth = z.infer<typeof AgentHealth>;

const windowDays = { window: wholeNumber(1, 90, 7).meta({ description: 'Length of the window in days, up to now.' }) };

export const getAgentHealth = operation({
  id: 'getAgentHealth',
  method: 'get',
  path: '/api/agents/:id/health',
  tag: 'Agents',
  summary: 'Health score of an agent, 0 to 100, from its daily totals.',
  scope: 'read',
  params: IdPath,
  query: z.object(windowDays),
  response: AgentHealth,
  problems: [404],
});

export const getHealthOverview = operation({
  id: 'getHealthOverview',
  method: 'get',
  path: '/api/health/overview',
  tag: 'Agents',
  summary: 'Health scores of every agent with sessions in the window, lowest first.',
  scope: 'read',
  query: z.object(windowDays),
  response: z.object({ agents: z.array(AgentHealth), computedAt: Instant }),
});

const HealthSnapshot = z.object({
  agentId: z.string(),
  date: z.iso.date().meta({ description: 'UTC day.' }),
  overallScore: z.number(),
  errorRateScore: z.number(),
  costEfficiencyScore: z.number(),
  toolSuccessScore: z.number(),
  latencyScore: z.number(),
  completionRateScore: z.number(),
  sessionCount: z.int(),
});
export type HealthSnapshot = z.infer<typeof HealthSnapshot>;

export const getHealthHistory = operation({
  id: 'getHealthHistory',
  method: 'get',
  path: '/api/health/history',
  tag: 'Agents',
  summary: 'Health score of an agent per day, each over the preceding seven days; newest first.',
  scope: 'read',
  query: z.object({ agentId: ClientId, days: wholeNumber(1, 365, 30) }),
  response: z.object({ snapshots: z.array(HealthSnapshot), agentId: z.string(), days: z.int() }),
});
