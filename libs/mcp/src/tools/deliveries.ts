import type { Client } from '@agentlens/client';
import { pick } from '../answer.ts';
import { actionsWith, id, type McpTool, PAGE, RULE, USUAL_LIMIT, words } from '../tool.ts';

type Delivery = Awaited<ReturnType<Client['listDeliveries']>>['deliveries'][number];

const PATH = '/deliveries';

const fields = { ...RULE, ...PAGE, deliveryId: id, status: words.describe('e.g. success,failed') };
const action = actionsWith(fields);

export const deliveries: McpTool = {
  name: 'deliveries',
  title: 'Deliveries',
  description: 'Deliveries of rule actions (webhooks and others).',
  fields,
  actions: {
    list: action({
      scope: 'read',
      takes: ['status', 'ruleId', 'limit', 'cursor'],
      run: async ({ client }, { limit = USUAL_LIMIT, status, ruleId, cursor }) => ({
        ...{ list: 'deliveries', limit, summary: deliverySummary, path: PATH },
        ask: (most) => client.listDeliveries({ query: { result: status, ruleId, cursor, limit: most } }),
      }),
    }),
    redeliver: action({
      scope: 'admin',
      needs: ['deliveryId'],
      run: async ({ client }, { deliveryId }) => ({
        value: await client.redeliver({ params: { id: deliveryId } }),
        path: PATH,
      }),
    }),
  },
};

function deliverySummary(delivery: Delivery) {
  const { attempts, ...shown } = delivery;
  const last = attempts.at(-1);
  return { ...shown, lastAttempt: last && pick(last, 'finishedAt', 'outcome', 'httpStatus', 'detail') };
}
