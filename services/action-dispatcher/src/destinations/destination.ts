import { createHash } from 'node:crypto';
import type { JsonObject } from '@agentlens/contracts';
import { ACTIONS } from '@agentlens/guardrails/actions';
import { ALERT_WEBHOOK, alertWebhook } from '../alerts/alert-webhook.ts';
import { ENDPOINT_WEBHOOK, endpointWebhook } from '../webhooks/webhook-config.ts';

/** An address one tenant's actions call. Health, fairness and being disabled are per destination. */
export interface Destination {
  readonly tenantId: string;
  /** SHA-256 of the whole address: paths and queries of webhooks are often secrets themselves. */
  readonly id: string;
}

/** What an action calls: its id, and a label that may be shown. Null where it calls nobody. */
export function addressOf(actionType: string, config: JsonObject): Address | null {
  if (actionType === ALERT_WEBHOOK) return destinationOf(config[alertWebhook.address]);
  if (actionType === ENDPOINT_WEBHOOK) return destinationOf(config[endpointWebhook.address]);
  const action = ACTIONS.get(actionType);
  if (action === undefined || !('execute' in action) || action.callsOut === false) return null;
  const [key] = action.addresses;
  return key === undefined ? null : destinationOf(config[key]);
}

interface Address {
  readonly id: string;
  readonly label: string;
}

/** Null for what is no address. */
export function destinationOf(text: unknown): Address | null {
  const url = typeof text === 'string' ? URL.parse(text) : null;
  if (url === null) return null;
  return { id: createHash('sha256').update(url.href).digest('hex'), label: url.origin };
}
