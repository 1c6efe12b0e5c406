import { AgentError } from '../core/agent-error.ts';
import type { ActiveSession } from './active-session.ts';
import type { AgentSpec } from './agent-config.ts';
import type { AgentResult } from './agent-result.ts';

/** Runs turns of sessions, and stops them by the session's id. */
export interface Runner {
  run(session: ActiveSession, spec?: AgentSpec): Promise<AgentResult>;
  /** @throws AgentError `session_not_found` when it runs no such session */
  abort(sessionId: string): Promise<void>;
}

/** The default runner: what a session's agent does, with the sessions that are running known by their ids. */
export class AgentRunner implements Runner {
  readonly #running = new Map<string, ActiveSession>();

  async run(session: ActiveSession, spec: AgentSpec = {}): Promise<AgentResult> {
    this.#running.set(session.id, session);
    try {
      return await session.run(spec.task);
    } finally {
      this.#running.delete(session.id);
    }
  }

  async abort(sessionId: string): Promise<void> {
    const session = this.#running.get(sessionId);
    if (session === undefined) throw new AgentError('session_not_found', 'no such session is running');
    session.abort();
  }
}
