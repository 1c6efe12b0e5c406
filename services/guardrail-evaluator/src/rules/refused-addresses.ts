import type { JsonObject, ProblemDetail } from '@agentlens/contracts';
import { type EgressPolicy, refuseAddress } from '@agentlens/egress';
import { ACTIONS, type ValidDraft } from '@agentlens/guardrails';

/** The addresses of an action that may not be called. An unchanged address is checked when it is called. */
export function refusedAddresses(
  { actionType, actionConfig }: Pick<ValidDraft, 'actionType' | 'actionConfig'>,
  policy: EgressPolicy,
  before: JsonObject = {},
): ProblemDetail[] {
  const details: ProblemDetail[] = [];
  for (const key of ACTIONS.get(actionType)?.addresses ?? []) {
    const address = actionConfig[key];
    if (typeof address !== 'string' || address === before[key]) continue;
    const reason = refuseAddress(address, policy);
    if (reason !== null) details.push({ path: `actionConfig.${key}`, message: reason });
  }
  return details;
}
