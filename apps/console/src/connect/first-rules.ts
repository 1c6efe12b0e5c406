import { client, clientWith } from '../api/client.ts';
import type { RuleBody, Run } from '../api/model.ts';

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

export interface Proposal {
  readonly agentId: string;
  readonly medianUsd: number;
  readonly limitUsd: number;
  /** Ratio of the limit to the most expensive run so far. */
  readonly times: number;
  readonly draft: RuleBody;
}

/** Limits are round numbers. */
const LIMITS_USD = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 500, 1000];
const ROOM = 5;

/** A cost limit well above the runs of the busiest agent. Undefined if no cost is known. */
export function proposalFor(runs: readonly Run[]): Proposal | undefined {
  const costly = runs.filter(({ totals }) => totals.costUsd > 0);
  const byAgent = [...Map.groupBy(costly, ({ agentId }) => agentId)].sort((a, b) => b[1].length - a[1].length);
  const [agentId, own] = byAgent[0] ?? [];
  if (agentId === undefined || own === undefined) return undefined;
  const costs = own.map(({ totals }) => totals.costUsd).sort((a, b) => a - b);
  const medianUsd = costs[Math.floor(costs.length / 2)] ?? 0;
  const dearest = costs.at(-1) ?? 0;
  const limitUsd = LIMITS_USD.find((limit) => limit >= dearest * ROOM) ?? Math.ceil(dearest * ROOM);
  return {
    agentId,
    medianUsd,
    limitUsd,
    times: Math.round(limitUsd / dearest),
    draft: {
      name: `A run of ${agentId} costs more than $${limitUsd}`,
      agentId,
      conditionType: 'cost_limit',
      conditionConfig: { maxCostUsd: limitUsd, scope: 'session' },
      actionType: 'raise_alert',
      actionConfig: { severity: 'warn', title: `A run of ${agentId} costs more than $${limitUsd}` },
      mode: 'shadow',
    },
  };
}
