import { client, clientWith } from '../api/client.ts';

const DEMO_AGENT = 'demo-agent';

/** Rules for the demo agent: one blocks its loop, one needs approval. Created once. */
const RULES = [
  {
    name: 'Demo: same search more than 3 times',
    description: 'Created by the demo. Delete it when you no longer need it.',
    agentId: DEMO_AGENT,
    toolNames: ['web_search'],
    conditionType: 'repeated_call',
    conditionConfig: { times: 3, sameResult: false },
    actionType: 'block',
    actionConfig: { message: 'This search was already made three times. Use the results you have.' },
  },
  {
    name: 'Demo: purchases need approval',
    description: 'Created by the demo. Delete it when you no longer need it.',
    agentId: DEMO_AGENT,
    toolNames: ['buy_report'],
    conditionType: 'tool_argument',
    conditionConfig: { path: 'amount', type: 'number', operator: 'gt', value: 10 },
    actionType: 'require_approval',
    actionConfig: { title: 'May it spend money?', expiresInSeconds: 600 },
    onMissing: 'block' as const,
  },
];

const KEY_LIFE_MS = 60 * 60_000;

/**
 * Starts the demo agent on the server with a key of its own, which only this page has and which expires within an hour.
 * @returns the id of its run
 */
export async function startDemo(): Promise<string> {
  const { rules } = await client.listRules({ query: { agentId: DEMO_AGENT, limit: 500 } });
  for (const rule of RULES) if (!rules.some(({ name }) => name === rule.name)) await client.createRule({ body: rule });
  const expiresAt = new Date(Date.now() + KEY_LIFE_MS).toISOString();
  const { key } = await client.createKey({ body: { name: 'Demo agent', scopes: ['ingest', 'decide'], expiresAt } });
  return (await clientWith(key).startDemo()).runId;
}
