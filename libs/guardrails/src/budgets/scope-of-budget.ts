import type { Budget, DecisionRequest } from '@agentlens/contracts';

/** Who spends the money of a call or an event. */
export interface Spender {
  readonly tenantId: string;
  readonly agentId: string;
  readonly runId: string;
  /** The topmost known run of its tree; if absent, the run itself. */
  readonly treeId?: string | undefined;
  /** If absent, the run is its own session. */
  readonly sessionId?: string | undefined;
  readonly actorId?: string | undefined;
}

/** Who spends the money of the call that a question is about. */
export function spenderOf({ tenantId, agentId, runId, ancestors, sessionId, actor }: DecisionRequest): Spender {
  return { tenantId, agentId, runId, treeId: ancestors?.at(-1), sessionId, actorId: actor?.externalId };
}

/** Returns the member of the budget's scope that pays for a spender; undefined if the budget does not apply. */
export function payingScope(
  { enabled, scope, scopeId }: Pick<Budget, 'enabled' | 'scope' | 'scopeId'>,
  spender: Spender,
): string | undefined {
  if (!enabled) return undefined;
  const member = memberOf(scope, spender);
  return scopeId === undefined || scopeId === member ? member : undefined;
}

function memberOf(scope: Budget['scope'], spender: Spender): string | undefined {
  switch (scope) {
    case 'run':
      return spender.runId;
    case 'tree':
      return spender.treeId ?? spender.runId;
    case 'session':
      return spender.sessionId ?? spender.runId;
    case 'agent':
      return spender.agentId;
    case 'actor':
      return spender.actorId;
    case 'tenant':
      return spender.tenantId;
  }
}
