import type { JsonObject } from '@agentlens/contracts';
import type { ActionModule } from '../catalog/action-module.ts';
import { Catalog } from '../catalog/catalog.ts';
import { agentgatePolicy } from './agentgate-policy/agentgate-policy.ts';
import { allow } from './allow/allow.ts';
import { block } from './block/block.ts';
import { downgradeModel } from './downgrade-model/downgrade-model.ts';
import { modifyArguments } from './modify-arguments/modify-arguments.ts';
import { notifyWebhook } from './notify-webhook/notify-webhook.ts';
import { pauseAgent } from './pause-agent/pause-agent.ts';
import { raiseAlert } from './raise-alert/raise-alert.ts';
import { requireApproval } from './require-approval/require-approval.ts';
import { terminateRun } from './terminate-run/terminate-run.ts';

/** Every action a rule can have. To add one, add a folder and an entry below. */
export const ACTIONS = new Catalog<ActionModule>([
  pauseAgent,
  notifyWebhook,
  downgradeModel,
  agentgatePolicy,
  raiseAlert,
  block,
  terminateRun,
  requireApproval,
  modifyArguments,
  allow,
]);

/** Whether an action decides about a call before it happens. Other services carry out the rest, after an event. */
export function decidesCalls(actionType: string): boolean {
  return ACTIONS.get(actionType)?.phases[0] === 'decision';
}

/** `path` is relative to the action config: `secret`, `headers.authorization`. */
type Change = (text: string, path: string) => string;

/**
 * Applies `change` (seal, open or mask) to each secret in the config of an action. For an unknown type, every text is
 * treated as a secret.
 */
export function mapActionSecrets(actionType: string, config: JsonObject, change: Change): JsonObject {
  const action = ACTIONS.get(actionType);
  const entries = Object.entries(config).map(([key, value]) =>
    action === undefined || action.secrets.includes(key) ? [key, changed(value, key, change)] : [key, value],
  );
  return Object.fromEntries(entries) as JsonObject;
}

function changed(value: unknown, path: string, change: Change): unknown {
  if (typeof value === 'string') return change(value, path);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, changed(inner, `${path}.${key}`, change)]),
  );
}

const MASK = '***';

/** Masks a secret, showing its last four characters if most of it stays hidden. */
export function maskSecret(plain: string): string {
  if (plain.startsWith(MASK)) return plain;
  return plain.length >= 12 ? `${MASK}${plain.slice(-4)}` : MASK;
}

/** Returns true for text produced by `maskSecret`. */
export function isMasked(text: string): boolean {
  return text.startsWith(MASK);
}
