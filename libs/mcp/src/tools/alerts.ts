import { AGENT, actionsWith, id, type McpTool, PAGE, RANGE, reason, USUAL_LIMIT, words } from '../tool.ts';

const PATH = '/alerts';

const fields = {
  ...AGENT,
  ...RANGE,
  ...PAGE,
  alertId: id,
  status: words,
  kind: words.describe('rule,breaker,approval'),
  reason,
};
const action = actionsWith(fields);

export const alerts: McpTool = {
  name: 'alerts',
  title: 'Alerts',
  description: 'Alerts for people: alerts of rules, opened circuit breakers, approvals.',
  fields,
  actions: {
    list: action({
      scope: 'read',
      takes: ['status', 'kind', 'agentId', 'from', 'to', 'limit', 'cursor'],
      run: async ({ client }, { limit = USUAL_LIMIT, status, kind, agentId, from, to, cursor }) => ({
        ...{ list: 'alerts', limit, path: PATH },
        ask: (most) => client.listAlerts({ query: { status, kind, agentId, from, to, cursor, limit: most } }),
      }),
    }),
    get: action({
      scope: 'read',
      needs: ['alertId'],
      run: async ({ client }, { alertId }) => ({
        value: { alert: await client.getAlert({ params: { id: alertId } }) },
        path: PATH,
      }),
    }),
    acknowledge: action({
      scope: 'review',
      needs: ['alertId'],
      takes: ['reason'],
      run: async ({ client }, { alertId, reason }) => ({
        value: { alert: await client.acknowledgeAlert({ params: { id: alertId }, body: { reason } }) },
        path: PATH,
      }),
    }),
  },
};
