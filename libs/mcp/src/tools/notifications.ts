import type { Client } from '@agentlens/client';
import { pick } from '../answer.ts';
import { AGENT, actionsWith, id, type McpTool, PAGE, RANGE, RULE, reason, USUAL_LIMIT, words } from '../tool.ts';

const ALERTS_PATH = '/alerts';

const alertFields = {
  ...AGENT,
  ...RANGE,
  ...PAGE,
  alertId: id,
  status: words,
  kind: words.describe('rule,breaker,approval'),
  reason,
};
const alertAction = actionsWith(alertFields);

export const alerts: McpTool = {
  name: 'alerts',
  title: 'Alerts',
  description: 'Alerts for people: alerts of rules, opened circuit breakers, approvals.',
  fields: alertFields,
  actions: {
    list: alertAction({
      scope: 'read',
      takes: ['status', 'kind', 'agentId', 'from', 'to', 'limit', 'cursor'],
      run: async ({ client }, { limit = USUAL_LIMIT, status, kind, agentId, from, to, cursor }) => ({
        ...{ list: 'alerts', limit, path: ALERTS_PATH },
        ask: (most) => client.listAlerts({ query: { status, kind, agentId, from, to, cursor, limit: most } }),
      }),
    }),
    get: alertAction({
      scope: 'read',
      needs: ['alertId'],
      run: async ({ client }, { alertId }) => ({
        value: { alert: await client.getAlert({ params: { id: alertId } }) },
        path: ALERTS_PATH,
      }),
    }),
    acknowledge: alertAction({
      scope: 'review',
      needs: ['alertId'],
      takes: ['reason'],
      run: async ({ client }, { alertId, reason }) => ({
        value: { alert: await client.acknowledgeAlert({ params: { id: alertId }, body: { reason } }) },
        path: ALERTS_PATH,
      }),
    }),
  },
};

type Delivery = Awaited<ReturnType<Client['listDeliveries']>>['deliveries'][number];

const DELIVERIES_PATH = '/deliveries';

const deliveryFields = { ...RULE, ...PAGE, deliveryId: id, status: words.describe('e.g. success,failed') };
const deliveryAction = actionsWith(deliveryFields);

export const deliveries: McpTool = {
  name: 'deliveries',
  title: 'Deliveries',
  description: 'Deliveries of rule actions (webhooks and others).',
  fields: deliveryFields,
  actions: {
    list: deliveryAction({
      scope: 'read',
      takes: ['status', 'ruleId', 'limit', 'cursor'],
      run: async ({ client }, { limit = USUAL_LIMIT, status, ruleId, cursor }) => ({
        ...{ list: 'deliveries', limit, summary: deliverySummary, path: DELIVERIES_PATH },
        ask: (most) => client.listDeliveries({ query: { result: status, ruleId, cursor, limit: most } }),
      }),
    }),
    redeliver: deliveryAction({
      scope: 'admin',
      needs: ['deliveryId'],
      run: async ({ client }, { deliveryId }) => ({
        value: await client.redeliver({ params: { id: deliveryId } }),
        path: DELIVERIES_PATH,
      }),
    }),
  },
};

function deliverySummary(delivery: Delivery) {
  const { attempts, ...shown } = delivery;
  const last = attempts.at(-1);
  return { ...shown, lastAttempt: last && pick(last, 'finishedAt', 'outcome', 'httpStatus', 'detail') };
}
