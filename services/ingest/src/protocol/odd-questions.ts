import { type DecisionRequest, HANDLEBAR_DIALECT, type TranslatedEvent } from '@agentlens/contracts';
import { mixesScripts } from '@agentlens/guardrails/names';

/** Something about a question that an operator should see, though it is answered. */
interface Oddity {
  /** `other_identity`: the run was started as somebody else. `mixed_scripts`: a tool's name passes for another. */
  readonly what: 'other_identity' | 'mixed_scripts';
  /** The same for every question of the run that is odd in the same way. */
  readonly name: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

export function odditiesOf(request: DecisionRequest): Oddity[] {
  const { tenantId, runId, agentId, sessionId, actor, startedAs, tool } = request;
  const oddities: Oddity[] = [];
  const add = (what: Oddity['what'], payload: Oddity['payload']) =>
    oddities.push({ what, name: JSON.stringify([tenantId, runId, what, payload]), payload });
  if (startedAs !== undefined) {
    const started = { ...startedAs, actor: startedAs.actor?.externalId };
    add('other_identity', { asked: { agentId, sessionId, actor: actor?.externalId }, started });
  }
  if (tool !== undefined && mixesScripts(tool.name)) add('mixed_scripts', { toolName: tool.name });
  return oddities;
}

export function oddityEvent(
  { agentId, runId, callId, tool }: DecisionRequest,
  { what, payload }: Oddity,
): TranslatedEvent {
  const facts: TranslatedEvent['facts'] = {
    agentId,
    runId,
    kind: 'custom.recorded',
    dialect: HANDLEBAR_DIALECT,
    sourceType: `decision.${what}`,
    severity: 'warn',
    isError: false,
    toolName: tool?.name.slice(0, 256).toWellFormed(),
    callId,
    payload: JSON.parse(JSON.stringify(payload)) as TranslatedEvent['facts']['payload'],
    metadata: {},
  };
  return { clientId: undefined, timestamp: undefined, facts };
}
