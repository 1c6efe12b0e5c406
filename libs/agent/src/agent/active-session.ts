import { AgentError, isAgentError } from '../core/agent-error.ts';
import type { Effects } from '../effects/effects.ts';
import type { AgentHandle } from '../runtime/agent-handle.ts';
import { AgentSession } from '../session/agent-session.ts';
import { hasUnfinishedTurn } from '../session/reopen.ts';
import type { Agent } from './agent.ts';
import type { AgentSpec, RunOptions } from './agent-config.ts';
import type { AgentResult } from './agent-result.ts';
import { TASK_IS_INPUT } from './prepare-turn.ts';

/** A running session of an agent, one turn at a time. */
export class ActiveSession implements AsyncDisposable {
  readonly id: string;
  readonly #agent: Agent;
  readonly #options: RunOptions;
  readonly #effects: Effects;
  readonly #results: AgentResult[] = [];
  #waiting: ((result: AgentResult) => void) | null = null;
  #session: AgentSession | undefined;
  #handle: AgentHandle | undefined;
  #abort = false;
  #running = false;

  constructor(agent: Agent, options: RunOptions, effects: Effects) {
    this.#agent = agent;
    this.#options = options;
    this.#effects = effects;
    if (options.sessionId === undefined) this.#session = new AgentSession(agent.id, { effects });
    this.id = options.sessionId ?? this.session.sessionId;
  }

  /** @throws AgentError `illegal_transition` before the first run of a stored session */
  get session(): AgentSession {
    if (this.#session === undefined)
      throw new AgentError('illegal_transition', 'the stored session is loaded by run()');
    return this.#session;
  }

  /** @throws AgentError `illegal_transition` before the first run */
  get handle(): AgentHandle {
    if (this.#handle === undefined)
      throw new AgentError('illegal_transition', 'the session is started by run() or start()');
    return this.#handle;
  }

  /** Loads and starts the session without input, so that you can subscribe before the first turn. */
  async start(): Promise<AgentHandle> {
    if (this.#handle !== undefined) return this.#handle;
    this.#session ??= await this.#stored();
    const session = this.#session;
    const { runId, input } = this.#options;
    if (input === undefined && session.getHistory().length === 0) session.setMetadata(TASK_IS_INPUT, true);
    const run = this.#agent.asFunction({
      run: this.#options,
      isAborted: () => this.#abort || this.#options.signal?.aborted === true,
      onResult: (result) => this.#deliver(result),
    });
    const { maxSteps } = this.#options;
    this.#handle = this.#agent.runtime.spawn(session, run, {
      effects: this.#effects,
      limits: { ...this.#agent.runLimits, ...(maxSteps === undefined ? {} : { maxSteps }) },
      ...(runId === undefined ? {} : { runId }),
      ...(this.#agent.principal === undefined ? {} : { by: this.#agent.principal }),
    });
    this.#options.signal?.addEventListener('abort', this.#aborted, { once: true });
    return this.#handle;
  }

  /**
   * Runs one turn with this input, or with the options' input or the task. A stored session first finishes a turn that
   * was interrupted by a crash; without input that is the turn.
   *
   * @throws AgentError if the turn could not start: `session_busy`, `session_corrupt`, `capacity` …
   */
  async run(input = this.#results.length === 0 ? this.#options.input : undefined): Promise<AgentResult> {
    if (this.#running)
      throw new AgentError('illegal_transition', 'a turn is running: wait for it, or steer it with the handle');
    this.#running = true;
    try {
      const first = this.#handle === undefined;
      const handle = await this.start();
      if (first && hasUnfinishedTurn(this.session)) {
        const unfinished = await this.#next(handle);
        if (input === undefined) return unfinished;
      }
      const next = this.#next(handle);
      handle.sendInput(input ?? (await this.#agent.taskText(this.#options)));
      return await next;
    } finally {
      this.#running = false;
      this.#abort = false;
    }
  }

  /** Stops the current turn. */
  abort(): void {
    this.#aborted();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#options.signal?.removeEventListener('abort', this.#aborted);
    await this.#handle?.shutdown();
  }

  readonly #aborted = (): void => {
    this.#abort = true;
    this.#handle?.interrupt(new AgentError('aborted', 'the run was stopped by its caller'));
  };

  #deliver(result: AgentResult): void {
    this.#results.push(result);
    this.#waiting?.(result);
    this.#waiting = null;
  }

  /** The next turn's result, or the error that ended the session before a result. */
  #next(handle: AgentHandle): Promise<AgentResult> {
    return new Promise((resolve, reject) => {
      this.#waiting = resolve;
      void handle.finished.then(() => {
        const { state } = handle;
        if (state.kind === 'error')
          reject(new AgentError(state.error.code, state.error.message, { info: state.error.info }));
        else reject(new AgentError('aborted', 'the session was shut down'));
      });
    });
  }

  async #stored(): Promise<AgentSession> {
    const { store } = this.#agent.runtime;
    try {
      return await AgentSession.load(store, this.id, { effects: this.#effects });
    } catch (error) {
      if (!isAgentError(error, 'session_not_found')) throw error;
      return new AgentSession(this.#agent.id, { effects: this.#effects, sessionId: this.id });
    }
  }
}

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
