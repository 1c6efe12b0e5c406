import { z } from 'zod';
import { AGENT, actionsWith, type McpTool, RANGE } from '../tool.ts';

const fields = {
  ...AGENT,
  ...RANGE,
  range: z.string().describe('e.g. 24h, 7d'),
  granularity: z.enum(['hour', 'day', 'week']),
};
const action = actionsWith(fields);

export const metrics: McpTool = {
  name: 'metrics',
  title: 'Figures',
  description:
    'overview: today and yesterday. analytics: events, errors, cost over time. quality: success, latency and cost by agent, model and tool.',
  fields,
  actions: {
    overview: action({ scope: 'read', run: async ({ client }) => ({ value: await client.getOverview(), path: '/' }) }),
    analytics: action({
      scope: 'read',
      takes: ['agentId', 'from', 'to', 'range', 'granularity'],
      run: async ({ client }, { agentId, from, to, range, granularity }) => ({
        value: await client.getAnalytics({ query: { agentId, from, to, range, granularity } }),
        path: '/spend',
      }),
    }),
    quality: action({
      scope: 'read',
      takes: ['agentId', 'from', 'to', 'range', 'granularity'],
      run: async ({ client }, { agentId, from, to, range, granularity }) => ({
        value: await client.getMetrics({ query: { agentId, from, to, range, granularity } }),
        path: '/agents',
      }),
    }),
  },
};
