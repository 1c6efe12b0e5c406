import { createHash } from 'node:crypto';
import type { JsonObject } from '@agentlens/contracts';
import { ACTIONS } from '@agentlens/guardrails';

/** An address one tenant's actions call. Health, fairness and being disabled are per destination. */
export interface Destination {
  readonly tenantId: string;
  /** SHA-256 of the whole address: paths and queries of webhooks are often secrets themselves. */
  readonly id: string;
}

/** What an action calls: its id, and a label that may be shown. Null where it calls nobody. */
export function addressOf(
  actionType: string,
  config: JsonObject,
): { readonly id: string; readonly label: string } | null {
  const key = ACTIONS.get(actionType)?.addresses[0];
  const text = key === undefined ? undefined : config[key];
  const url = typeof text === 'string' ? URL.parse(text) : null;
  if (url === null) return null;
  return { id: createHash('sha256').update(url.href).digest('hex'), label: url.origin };
}
