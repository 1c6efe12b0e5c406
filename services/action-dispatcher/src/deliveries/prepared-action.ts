import type { JsonObject } from '@agentlens/contracts';
import type { ActionDependencies, ActionModule, ActionOutcome } from '@agentlens/guardrails';
import { ACTIONS } from '@agentlens/guardrails/actions';
import { ALERT_WEBHOOK, alertWebhook } from '../alerts/alert-webhook.ts';
import { type Address, destinationOf } from '../destinations/destinations.ts';
import { ENDPOINT_WEBHOOK, endpointWebhook } from '../webhooks/webhook-config.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';

/** What a delivery carries out: the action of a rule, or a notification. */
export interface PreparedAction {
  readonly urgency: ActionModule['urgency'];
  /** Reads the config, with its secrets opened. Returns a text if part of it is no longer valid. */
  prepare(config: JsonObject): ((tools: ActionDependencies) => Promise<ActionOutcome>) | string;
}

/**
 * Finds what a delivery carries out. Returns a text if there is nothing.
 *
 * @param publicUrl base of links to the console
 */
export function actionFor(
  { actionType, trigger, triggeredAt }: ClaimedDelivery,
  publicUrl?: string,
): PreparedAction | string {
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
  if (actionType === ENDPOINT_WEBHOOK) return destinationOf(config[endpointWebhook.address]);
  const action = ACTIONS.get(actionType);
  if (action === undefined || !('execute' in action) || action.callsOut === false) return null;
  const [key] = action.addresses;
  return key === undefined ? null : destinationOf(config[key]);
}

function prepared<C>(
  { urgency, config: schema }: Pick<ActionModule<C>, 'urgency' | 'config'>,
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
