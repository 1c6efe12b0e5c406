import { AgentError } from '../core/agent-error.ts';
import type { ActiveSession } from './active-session.ts';
import type { AgentSpec } from './agent-config.ts';
import type { AgentResult } from './agent-result.ts';

/** Runs turns of sessions, and stops them by session id. */
export interface Runner {
  run(session: ActiveSession, spec?: AgentSpec): Promise<AgentResult>;
  /** @throws AgentError `session_not_found` if it does not run this session */
  abort(sessionId: string): Promise<void>;
}

/** Default runner: runs the agent of a session and tracks running sessions by id. */
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
