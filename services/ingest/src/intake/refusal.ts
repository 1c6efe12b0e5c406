import type { ProblemDetail } from '@agentlens/contracts';
import { boundTo, OTHER_AGENT } from '@agentlens/platform';

/** Why an event is rejected; the label of the metric. */
const REFUSAL_REASONS = ['malformed', 'invalid', 'time', 'too_large', 'conflict', 'other_agent'] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** A rejected event. Paths of the details start at the event. */
export interface Refusal {
  readonly reason: RefusalReason;
  readonly status: 400 | 403 | 409;
  readonly error: string;
  /** Error code, if the status is not specific enough for programs. */
  readonly code?: string;
  readonly details: readonly ProblemDetail[];
}

export function invalid(reason: RefusalReason, details: readonly ProblemDetail[]): Refusal {
  return { reason, status: 400, error: 'Validation failed', details };
}

export function conflict(id: string): Refusal {
  const message = `"${id}" is the id of an event with another content; send a changed event under a new id`;
  return { reason: 'conflict', status: 409, error: 'Event id reused', details: [{ path: 'id', message }] };
}

/** Rejects an event about an agent that its key is not bound to. */
export function otherAgent(agents: readonly string[]): Refusal {
  return ofOtherAgent([{ path: 'agentId', message: boundTo(agents) }]);
}

/** Rejects an event in a run of an agent that its key is not bound to. */
export function otherAgentsRun(agents: readonly string[]): Refusal {
  return ofOtherAgent([{ path: 'sessionId', message: `is a run of another agent: its agent ${boundTo(agents)}` }]);
}

function ofOtherAgent(details: readonly ProblemDetail[]): Refusal {
  return {
    reason: 'other_agent',
    status: 403,
    error: 'This API key is bound to other agents',
    code: OTHER_AGENT,
    details,
  };
}
