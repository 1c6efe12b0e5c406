import { type Alert, COMMANDS, type DecisionRequest } from '@agentlens/contracts';
import { type Ask, redactDeep } from '@agentlens/guardrails';
import type { EventBus } from '@agentlens/messaging';
import type { CallIdentity } from './call-identity.ts';
import type { Deadline } from './deadline.ts';

/** Of the arguments a reviewer is shown. */
const SHOWN = 500;

/**
 * The approval of exactly this call, opened where there is none; null: nobody could be asked.
 * @throws CommandUnanswered
 */
export async function resolveApproval(
  bus: Pick<EventBus, 'request'>,
  request: DecisionRequest,
  ask: Ask,
  { argsHash }: CallIdentity,
  deadline: Deadline,
): Promise<Alert | null> {
  const { tenantId, agentId, runId, callId, phase, tool, args } = request;
  const toolName = tool?.name ?? phase;
  const command = { ...COMMANDS.resolveApproval, deadlineMs: Math.max(1, Math.floor(deadline.leftMs)) };
  const answer = await bus.request(command, {
    ...{ tenantId, agentId, title: ask.title, expiresInSeconds: ask.expiresInSeconds },
    binding: { runId, callId, toolName, argsHash, ruleId: ask.ruleId, ruleVersion: ask.ruleVersion },
    message: `Agent ${agentId} asks to call ${toolName} with ${shown(args)}`,
  });
  return answer.ok ? answer.value : null;
}

/** Redacted before it is cut, so that no half of a secret is left; what goes to people may be kept and sent on. */
function shown(args: unknown): string {
  const text = JSON.stringify(redactDeep(args ?? {}));
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text;
}
