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
