import { z } from 'zod';
import { AGENT, actionsWith, id, type McpTool, PAGE, USUAL_LIMIT, words } from '../tool.ts';

const PATH = '/breakers';

const fields = {
  ...AGENT,
  ...PAGE,
  scope: z.enum(['run', 'tree', 'agent']),
  id: id.describe('id of the run or agent, or of a run of the tree'),
  state: words.describe('e.g. open,half_open'),
};
const action = actionsWith(fields);

export const breakers: McpTool = {
  name: 'breakers',
  title: 'Circuit breakers',
  description: 'Breakers that stopped runs, run trees or agents at their limits, and those limits.',
  fields,
  actions: {
    list: action({
      scope: 'read',
      takes: ['scope', 'agentId', 'state', 'limit', 'cursor'],
      run: async ({ client }, { limit = USUAL_LIMIT, scope, agentId, state, cursor }) => ({
        ...{ list: 'breakers', limit, path: PATH },
        ask: (most) => client.listBreakers({ query: { scope, agentId, state, cursor, limit: most } }),
      }),
    }),
    limits: action({
      scope: 'read',
      run: async ({ client }) => ({ value: await client.getBreakerLimits(), path: PATH }),
    }),
    reset: action({
      scope: 'admin',
      needs: ['scope', 'id'],
      confirm: async (_session, { scope, id: target }) => ({
        question: `Close the breaker of the ${scope === 'tree' ? 'run tree' : scope} ${JSON.stringify(target)}? Its calls are allowed again.`,
      }),
      run: async ({ client }, { scope, id: target }) => {
        await client.resetBreaker({ params: { scope, id: target } });
        return { value: { closed: { scope, id: target } }, path: PATH };
      },
    }),
  },
};
