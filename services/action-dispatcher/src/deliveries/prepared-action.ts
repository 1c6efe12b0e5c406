import type { JsonObject } from '@agentlens/contracts';
import type { ActionDependencies, ActionModule, ActionOutcome } from '@agentlens/guardrails';
import { ACTIONS } from '@agentlens/guardrails/actions';
import type { ChannelSender } from '../channels/channel-sender.ts';
import { CHANNEL_NOTICE } from '../channels/channel-kinds.ts';
import { channelDestination } from '../channels/channels.repository.ts';
import { ChannelNoticeConfig, showsOnlyEnds } from '../channels/notice-queue.ts';
import { ALERT_WEBHOOK, alertWebhook } from '../alerts/alert-webhook.ts';
import { type Address, destinationOf } from '../destinations/destinations.ts';
import { ENDPOINT_WEBHOOK, endpointWebhook } from '../webhooks/webhook-config.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import type { Urgency } from './retry-schedule.ts';

/** What a delivery carries out: the action of a rule, or a notification. */
export interface PreparedAction {
  readonly urgency: Urgency;
  /** Reads the config, with its secrets opened. Returns a text if part of it is no longer valid. */
  prepare(config: JsonObject): ((tools: ActionDependencies) => Promise<ActionOutcome>) | string;
}

/**
 * Finds what a delivery carries out. Returns a text if there is nothing.
 *
 * @param publicUrl base of links to the console
 */
export function actionFor(
  {
    actionType,
    trigger,
    triggeredAt,
    tenantId,
    actionConfig,
    prior,
  }: Pick<ClaimedDelivery, 'actionType' | 'trigger' | 'triggeredAt' | 'tenantId' | 'actionConfig' | 'prior'>,
  publicUrl: string | undefined,
  channels: Pick<ChannelSender, 'send'>,
): PreparedAction | string {
  if (actionType === CHANNEL_NOTICE) {
    const notice = { urgency: showsOnlyEnds(actionConfig) ? 'end' : 'page', config: ChannelNoticeConfig } as const;
    return prepared(notice, (config, tools) => channels.send({ tenantId, triggeredAt, config, prior }, tools));
  }
  if (actionType === ENDPOINT_WEBHOOK) {
    return prepared(endpointWebhook, (config, tools) => endpointWebhook.execute(config, publicUrl, tools));
  }
  if (actionType === ALERT_WEBHOOK) {
    return prepared(alertWebhook, (config, tools) => alertWebhook.execute(config, triggeredAt, tools));
  }
  const action = ACTIONS.get(actionType);
  if (action === undefined) return `no action "${actionType}" is known`;
  if (!('execute' in action)) return `"${actionType}" is part of the answer to a call, there is nothing to carry out`;
  if (trigger === null) return 'its trigger was removed by retention';
  return prepared(action, (config, tools) => action.execute(config, trigger, tools));
}

/** The address that an action calls; null if it calls none. */
export function addressOf(actionType: string, config: JsonObject): Address | null {
  if (actionType === ALERT_WEBHOOK) return destinationOf(config[alertWebhook.address]);
  if (actionType === CHANNEL_NOTICE) {
    const { channelId } = config;
    return typeof channelId === 'string' ? { id: channelDestination(channelId), label: `channel ${channelId}` } : null;
  }
  if (actionType === ENDPOINT_WEBHOOK) return destinationOf(config[endpointWebhook.address]);
  const action = ACTIONS.get(actionType);
  if (action === undefined || !('execute' in action) || action.callsOut === false) return null;
  const [key] = action.addresses;
  return key === undefined ? null : destinationOf(config[key]);
}

function prepared<C>(
  { urgency, config: schema }: { readonly urgency: Urgency; readonly config: ActionModule<C>['config'] },
  execute: (config: C, tools: ActionDependencies) => Promise<ActionOutcome>,
): PreparedAction {
  return {
    urgency,
    prepare(opened) {
      const config = schema.safeParse(opened);
      if (config.success) return (tools) => execute(config.data, tools);
      return `the rule's action is no longer valid (actionConfig.${config.error.issues[0]?.path.join('.') ?? ''})`;
    },
  };
}
