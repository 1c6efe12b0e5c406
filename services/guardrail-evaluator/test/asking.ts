import { type Alert, COMMANDS, type Decision, type DecisionRequest } from '@agentlens/contracts';
import type { EventBus } from '@agentlens/messaging';

/** A question about a call of `search`. Specs override fields. */
export function aQuestion(fields: Partial<DecisionRequest> = {}): DecisionRequest {
  return {
    tenantId: 'acme',
    agentId: 'agent-1',
    runId: 'run-1',
    phase: 'tool.before',
    tool: { name: 'search', tags: [] },
    args: { query: 'weather' },
    tags: {},
    subjects: [],
    metrics: {},
    receivedAt: new Date().toISOString(),
    deadlineMs: 1_000,
    ...fields,
  };
}

export async function ask(bus: EventBus, fields: Partial<DecisionRequest> = {}): Promise<Decision> {
  const answer = await bus.request(COMMANDS.decide, aQuestion(fields));
  if (!answer.ok) throw new Error(JSON.stringify(answer.problem));
  return answer.value;
}

/** Resolves to the value of an answer, or throws its problem. */
export async function replyValue<A>(
  answer: Promise<{ ok: true; value: A } | { ok: false; problem: unknown }>,
): Promise<A> {
  const settled = await answer;
  if (!settled.ok) throw new Error(JSON.stringify(settled.problem));
  return settled.value;
}

export function anAlert(fields: Partial<Alert> = {}): Alert {
  return {
    id: 'alert-1',
    tenantId: 'acme',
    kind: 'approval',
    status: 'pending',
    severity: 'info',
    title: 'title',
    message: 'message',
    agentId: 'agent-1',
    createdAt: new Date().toISOString(),
    version: 1,
    ...fields,
  };
}
