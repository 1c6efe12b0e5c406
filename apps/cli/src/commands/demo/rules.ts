import { type Client, ProblemError, pages } from '@agentlens/client';
import type { RuleAnswer } from '../../context.ts';
import type { CleanupList, DemoScreen } from './screen.ts';
import { startWebhookReceiver } from './webhook-receiver.ts';

type RuleBody = Parameters<Client['createRule']>[0]['body'];

export interface DemoSetting {
  readonly client: Client;
  /** Client that keeps working after Ctrl-C. */
  readonly cleaner: Client;
  readonly cleanups: CleanupList;
  readonly screen: DemoScreen;
}

const PAUSE: RuleBody = {
  name: 'A third of its calls fail',
  conditionType: 'error_rate_threshold',
  conditionConfig: { threshold: 33, windowMinutes: 5, of: 'calls', minEvents: 10 },
  actionType: 'pause_agent',
  actionConfig: { message: 'A third of its calls fail' },
};
const SPENDING = {
  name: 'It spends more than $0.15 per run',
  conditionType: 'cost_limit',
  conditionConfig: { maxCostUsd: 0.15, scope: 'session' },
};
const BUYING: RuleBody = {
  name: 'Buying needs approval',
  conditionType: 'tool_name',
  conditionConfig: { operator: 'glob', value: 'buy_*' },
  actionType: 'require_approval',
  actionConfig: { title: 'May the agent buy this report for 49 EUR?', expiresInSeconds: 300 },
};

const OWN_AGENT = /^demo-(?:agent|buyer)-[0-9a-f]{6}$/;
/** No demo lasts as long: what is older was left by one that was killed. */
const LEFTOVER_AFTER_MS = 15 * 60_000;
const PAGE = 200;

/** Removes the rules of demos that were killed before they could. */
export async function removeLeftovers({ client, screen }: Pick<DemoSetting, 'client' | 'screen'>): Promise<void> {
  const before = Date.parse((await client.getMe()).now) - LEFTOVER_AFTER_MS;
  const left: RuleAnswer[] = [];
  for await (const { rules } of pages(client.listRules, { query: { limit: PAGE } })) {
    left.push(
      ...rules.filter(({ agentId = '', createdAt }) => OWN_AGENT.test(agentId) && Date.parse(createdAt) <= before),
    );
  }
  for (const { id, name } of left) {
    await client.deleteRule({ params: { id } });
    screen.note(`removed a rule that an earlier demo left: ${name}`);
  }
}

/** Creates the rules for the research agent. */
export async function makeSearchRules(setting: DemoSetting, agentId: string): Promise<RuleAnswer[]> {
  return [await makeRule(setting, { ...PAUSE, agentId }), await makeSpendingRule(setting, agentId)];
}

/** Creates the rule that requires approval before the agent buys. */
export function makeBuyingRule(setting: DemoSetting, agentId: string): Promise<RuleAnswer> {
  return makeRule(setting, { ...BUYING, agentId });
}

async function makeRule({ client, cleaner, cleanups, screen }: DemoSetting, body: RuleBody): Promise<RuleAnswer> {
  const rule = await client.createRule({ body });
  cleanups.add(() => cleaner.deleteRule({ params: { id: rule.id } }));
  screen.note(`${rule.name}  ->  ${rule.actionType}`);
  return rule;
}

/**
 * Creates a rule with a webhook to this machine if the platform allows that address; otherwise one that downgrades the
 * model.
 */
async function makeSpendingRule(setting: DemoSetting, agentId: string): Promise<RuleAnswer> {
  const { screen, cleanups } = setting;
  const receiver = await startWebhookReceiver(({ genuine, id, message }) =>
    screen.action(`webhook: ${genuine ? 'signature fine' : 'NOT SIGNED BY US'}, id ${id}: ${message}`),
  );
  cleanups.add(() => receiver.stop());
  const { url, secret } = receiver;
  try {
    const action = { actionType: 'notify_webhook', actionConfig: { url, secret } };
    return await makeRule(setting, { ...SPENDING, ...action, agentId });
  } catch (error) {
    if (!(error instanceof ProblemError) || ![400, 422].includes(error.status)) throw error;
    const actionConfig = { targetModel: 'gpt-4o-mini', message: 'Spend limit exceeded' };
    const rule = await makeRule(setting, { ...SPENDING, actionType: 'downgrade_model', actionConfig, agentId });
    screen.note('(The platform blocks webhooks to this machine by default. To see a webhook instead, start the');
    screen.note('platform with AGENTLENS_EGRESS_ALLOW=127.0.0.1/32 in its environment.)');
    return rule;
  }
}
