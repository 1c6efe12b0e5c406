import { type Client, ProblemError } from '@agentlens/client';
import type { RuleAnswer } from '../../context.ts';
import type { CleanupList, DemoScreen } from './screen.ts';
import { startWebhookReceiver } from './webhook-receiver.ts';

type RuleBody = Parameters<Client['createRule']>[0]['body'];

export interface DemoSetting {
  readonly client: Client;
  /** Its calls are made after Ctrl-C, too. */
  readonly cleaner: Client;
  readonly cleanups: CleanupList;
  readonly screen: DemoScreen;
}

const PAUSE: RuleBody = {
  name: 'A third of its calls fails',
  conditionType: 'error_rate_threshold',
  conditionConfig: { threshold: 33, windowMinutes: 5, of: 'calls', minEvents: 10 },
  actionType: 'pause_agent',
  actionConfig: { message: 'A third of its calls fails' },
};
const SPENDING = {
  name: 'It spends more than $0.15 in one run',
  conditionType: 'cost_limit',
  conditionConfig: { maxCostUsd: 0.15, scope: 'session' },
};
const BUYING: RuleBody = {
  name: 'Buying needs a human',
  conditionType: 'tool_name',
  conditionConfig: { operator: 'glob', value: 'buy_*' },
  actionType: 'require_approval',
  actionConfig: { title: 'May the agent buy this report for 49 EUR?', expiresInSeconds: 300 },
};

/** The rules that watch the searching agent. */
export async function makeSearchRules(setting: DemoSetting, agentId: string): Promise<RuleAnswer[]> {
  return [await makeRule(setting, { ...PAUSE, agentId }), await makeSpendingRule(setting, agentId)];
}

/** The rule that asks a human before the buying agent buys. */
export function makeBuyingRule(setting: DemoSetting, agentId: string): Promise<RuleAnswer> {
  return makeRule(setting, { ...BUYING, agentId });
}

async function makeRule({ client, cleaner, cleanups, screen }: DemoSetting, body: RuleBody): Promise<RuleAnswer> {
  const rule = await client.createRule({ body });
  cleanups.add(() => cleaner.deleteRule({ params: { id: rule.id } }));
  screen.note(`${rule.name}  ->  ${rule.actionType}`);
  return rule;
}

/** A webhook to this machine, where the platform's operator allows that; else the agent gets a cheaper model. */
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
    const actionConfig = { targetModel: 'gpt-4o-mini', message: 'It spends too much' };
    const rule = await makeRule(setting, { ...SPENDING, actionType: 'downgrade_model', actionConfig, agentId });
    screen.note('(Addresses of this machine are refused, as they should be. To see a webhook instead, start the');
    screen.note(' platform on this machine with AGENTLENS_EGRESS_ALLOW=127.0.0.1/32 in its environment.)');
    return rule;
  }
}
