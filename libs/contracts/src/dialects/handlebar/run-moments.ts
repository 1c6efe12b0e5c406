import type { AgentRegistration } from '../../agents.ts';
import { REGISTRY_RUN_ID } from '../../agents.ts';
import type { JsonObject } from '../../events.ts';
import type { TranslatedEvent } from '../agentlens/translate.ts';
import { HANDLEBAR_DIALECT } from '../dialect-names.ts';
import { runMomentId } from '../stable-ids.ts';
import { outcomeOf } from './lifted.ts';
import type { EndBody, StartBody } from './requests.ts';

/** Builds the event that a protocol call represents, with the payload that run-tracking reads. */
function moment(
  kind: TranslatedEvent['facts']['kind'],
  ids: { readonly agentId: string; readonly runId: string },
  payload: JsonObject,
): TranslatedEvent['facts'] {
  const { agentId, runId } = ids;
  const common = {
    dialect: HANDLEBAR_DIALECT,
    sourceType: kind,
    severity: 'info',
    isError: false,
    metadata: {},
  } as const;
  return { agentId, runId, kind, ...common, payload: present(payload) };
}

/** Payload: `actor`, `model`, `tags` (text by name), `runTtlMs`, `heartbeatEveryMs`, each if present. */
export function runStarted(runId: string, body: StartBody): TranslatedEvent {
  const { agentId, sessionId, actor, model, tags, runTtlMs, heartbeatEveryMs, parentRunId, parentToolUseId } = body;
  const momentId = runMomentId(agentId, runId, 'run.started');
  return {
    clientId: momentId,
    momentId,
    timestamp: undefined,
    retold: true,
    facts: {
      ...moment('run.started', { agentId, runId }, { actor, model, tags, runTtlMs, heartbeatEveryMs }),
      sessionId: sessionId ?? undefined,
      parentRunId: parentRunId ?? undefined,
      parentToolUseId: parentToolUseId ?? undefined,
      model: model?.name === '' ? undefined : model?.name,
      provider: model?.provider ?? undefined,
    },
  };
}

/** Payload: `status` as sent, `totalSteps`, `result`, `error`, each if present. */
export function runEnded(runId: string, { agentId, status, totalSteps, result, error }: EndBody): TranslatedEvent {
  const momentId = runMomentId(agentId, runId, 'run.ended');
  return {
    clientId: momentId,
    momentId,
    timestamp: undefined,
    retold: true,
    facts: {
      ...moment('run.ended', { agentId, runId }, { status, totalSteps, result, error }),
      outcome: outcomeOf(status),
    },
  };
}

/** Payload: AgentRegistration. Every registration is a separate event; the newest wins. */
export function agentRegistered(agentId: string, registration: AgentRegistration): TranslatedEvent {
  const facts = moment('agent.registered', { agentId, runId: REGISTRY_RUN_ID }, { ...registration });
  return { clientId: undefined, timestamp: undefined, facts: { ...facts, agentName: registration.name } };
}

function present(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value != null));
}
