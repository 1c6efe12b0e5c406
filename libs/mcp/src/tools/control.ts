import type { Client } from '@agentlens/client';
import { BREAKER_SCOPES } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { AGENT, actionsWith, id, type McpTool, PAGE, reason, USUAL_LIMIT, words } from '../tool.ts';

type Order = NonNullable<Parameters<Client['createOrder']>[0]>['body'];
type State = Order['state'];

const fields = {
  ...PAGE,
  scope: z.enum(['run', 'agent', 'tenant']),
  id: id.describe('id of the run or agent'),
  reason,
};
const action = actionsWith(fields);

interface Target {
  readonly scope: Order['scope'];
  readonly id?: string;
  readonly reason?: string;
}

export const control: McpTool = {
  name: 'control',
  title: 'Pause, resume, kill',
  description:
    'Operator orders. status: what is paused or killed. An order stands until the next one for the same scope.',
  fields,
  actions: {
    status: action({
      scope: 'read',
      takes: ['scope', 'id', 'limit', 'cursor'],
      run: async ({ client }, { limit = USUAL_LIMIT, scope, id: target, cursor }) => ({
        ...{ list: 'orders', limit, path: '/agents' },
        ask: (most) =>
          client.listOrders({ query: { state: 'paused,killed', scope, scopeId: target, cursor, limit: most } }),
      }),
    }),
    pause: action({
      scope: 'admin',
      needs: ['scope'],
      takes: ['id', 'reason'],
      run: async ({ client }, target) => ordered(client, 'paused', target),
    }),
    resume: action({
      scope: 'admin',
      needs: ['scope'],
      takes: ['id', 'reason'],
      confirm: async (_session, target) => ({ question: `Resume ${named(target)}?` }),
      run: async ({ client }, target) => ordered(client, 'running', target),
    }),
    kill: action({
      scope: 'admin',
      needs: ['scope'],
      takes: ['id', 'reason'],
      confirm: async (_session, target) => ({
        question: `Kill ${named(target)}? It ends at its next step, and everything it starts later is blocked.`,
      }),
      run: async ({ client }, target) => ordered(client, 'killed', target),
    }),
  },
};

async function ordered(client: Client, state: State, { scope, id: target, reason }: Target) {
  const { order, unknownScope, hint, ...receipts } = await client.createOrder({
    body: { scope, id: target, state, reason } as Order,
  });
  return { value: { order, receipts, unknownScope, hint }, path: '/agents' };
}

function named({ scope, id: target }: Target): string {
  return scope === 'tenant' ? 'every agent of the tenant' : `the ${scope} ${JSON.stringify(target ?? '')}`;
}

const BREAKERS_PATH = '/breakers';

const breakerFields = {
  ...AGENT,
  ...PAGE,
  scope: z.enum(BREAKER_SCOPES),
  id: id.describe('id of the run or agent, or of a run of the tree'),
  state: words.describe('e.g. open,half_open'),
};
const breakerAction = actionsWith(breakerFields);

export const breakers: McpTool = {
  name: 'breakers',
  title: 'Circuit breakers',
  description: 'Breakers that stopped runs, run trees or agents at their limits, and those limits.',
  fields: breakerFields,
  actions: {
    list: breakerAction({
      scope: 'read',
      takes: ['scope', 'agentId', 'state', 'limit', 'cursor'],
      run: async ({ client }, { limit = USUAL_LIMIT, scope, agentId, state, cursor }) => ({
        ...{ list: 'breakers', limit, path: BREAKERS_PATH },
        ask: (most) => client.listBreakers({ query: { scope, agentId, state, cursor, limit: most } }),
      }),
    }),
    limits: breakerAction({
      scope: 'read',
      run: async ({ client }) => ({ value: await client.getBreakerLimits(), path: BREAKERS_PATH }),
    }),
    reset: breakerAction({
      scope: 'admin',
      needs: ['scope', 'id'],
      confirm: async (_session, { scope, id: target }) => ({
        question: `Close the breaker of the ${scope === 'tree' ? 'run tree' : scope} ${JSON.stringify(target)}? Its calls are allowed again.`,
      }),
      run: async ({ client }, { scope, id: target }) => {
        await client.resetBreaker({ params: { scope, id: target } });
        return { value: { closed: { scope, id: target } }, path: BREAKERS_PATH };
      },
    }),
  },
};
