import type { Client } from '@agentlens/client';
import { pick } from '../answer.ts';
import { AGENT, actionsWith, type McpTool, PAGE, USUAL_LIMIT } from '../tool.ts';

type Agent = Awaited<ReturnType<Client['getAgent']>>;

const fields = { ...AGENT, ...PAGE };
const action = actionsWith(fields);

export const agents: McpTool = {
  name: 'agents',
  title: 'Agents',
  description: 'Agents, their current orders, and health scores (0-100) of the last 7 days.',
  fields,
  actions: {
    list: action({
      scope: 'read',
      takes: ['limit', 'cursor'],
      run: async ({ client }, { cursor, limit = USUAL_LIMIT }) => ({
        ...{ list: 'agents', limit, summary: agentSummary, path: '/agents' },
        ask: (most) => client.listAgents({ query: { cursor, limit: most } }),
      }),
    }),
    get: action({
      scope: 'read',
      needs: ['agentId'],
      run: async ({ client }, { agentId }) => ({
        value: { agent: await client.getAgent({ params: { id: agentId } }) },
        path: agentPath(agentId),
      }),
    }),
    health: action({
      scope: 'read',
      takes: ['agentId'],
      run: async ({ client }, { agentId }) =>
        agentId === undefined
          ? { value: await client.getHealthOverview(), path: '/agents' }
          : { value: { health: await client.getAgentHealth({ params: { id: agentId } }) }, path: agentPath(agentId) },
    }),
  },
};

function agentSummary(agent: Agent) {
  return pick(
    agent,
    ...(['id', 'name', 'slug', 'lastSeenAt', 'sessionCount', 'eventCount', 'errorCount', 'totalCostUsd'] as const),
    ...(['control', 'modelOverride'] as const),
  );
}

function agentPath(agentId: string): string {
  return `/agents/${encodeURIComponent(agentId)}`;
}
