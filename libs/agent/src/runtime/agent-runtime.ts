import type { AgentLensClient } from '@agentlens/sdk';
import { AgentError } from '../core/agent-error.ts';
import { type Effects, liveEffects } from '../effects/effects.ts';
import { deniedHost, type Host } from '../host/host.ts';
import { type PlatformGuardOptions, platformGuard } from '../platform/platform-guard.ts';
import { recordedGuard } from '../platform/recorded-guard.ts';
import { localGuard, type RunGuard } from '../platform/run-guard.ts';
import { encryptedSessions } from '../security/encrypted-session-store.ts';
import type { Principal, Roles } from '../security/roles.ts';
import type { KeyProvider } from '../security/sealed.ts';
import { AgentSession } from '../session/agent-session.ts';
import { MemorySessionStore } from '../session/memory-session-store.ts';
import type { SessionLease, SessionStore } from '../session/session-store.ts';
import { type AgentHandle, LiveHandle } from './agent-handle.ts';
import { type AgentFunction, AgentInternals } from './agent-internals.ts';
import {
  checkRunLimits,
  checkRuntimeLimits,
  DEFAULT_RUNTIME_LIMITS,
  type RunLimits,
  type RuntimeLimits,
} from './capacity.ts';
import { handleFor } from './handle-for.ts';
import { LiveSession } from './live-session.ts';
import { SubAgents } from './sub-agents.ts';

export interface AgentRuntimeOptions {
  /** Default: in memory. */
  readonly store?: SessionStore;
  /** Decides, records and stops runs. Default: none; only limits apply. */
  readonly platform?: AgentLensClient;
  readonly platformOptions?: PlatformGuardOptions;
  /** Default: no files, no shell, no network. */
  readonly host?: Host;
  readonly effects?: Effects;
  /** Encrypts stored data. */
  readonly keys?: KeyProvider;
  readonly roles?: Roles;
  readonly limits?: Partial<RuntimeLimits>;
  readonly logger?: RuntimeLogger;
  /** Longest wait for a human's answer in this process, in ms; then the answer is no. Default 15 minutes. */
  readonly askTimeoutMs?: number;
}

export interface SpawnOptions {
  readonly runId?: string;
  readonly limits?: Partial<RunLimits>;
  readonly by?: Principal;
  /** Used for one session instead of the runtime's. */
  readonly effects?: Effects;
}

const DEFAULT_ASK_TIMEOUT_MS = 15 * 60_000;

interface Running {
  readonly live: LiveSession;
  readonly handle: AgentHandle;
}

/** Runs agents: as many sessions as its limits allow, each with one owner. Runtimes share nothing. */
export class AgentRuntime implements AsyncDisposable {
  readonly store: SessionStore;
  readonly host: Host;
  readonly effects: Effects;
  readonly roles: Roles | undefined;
  readonly #options: AgentRuntimeOptions;
  readonly #limits: RuntimeLimits;
  readonly #logger: RuntimeLogger;
  readonly #running = new Map<string, Running>();
  readonly #subAgents: SubAgents;

  constructor(options: AgentRuntimeOptions = {}) {
    this.#options = options;
    this.effects = options.effects ?? liveEffects();
    this.roles = options.roles;
    const store = options.store ?? new MemorySessionStore();
    this.store = options.keys === undefined ? store : encryptedSessions(store, options.keys);
    this.host = options.host ?? deniedHost;
    checkRuntimeLimits(options.limits ?? {});
    this.#limits = { ...DEFAULT_RUNTIME_LIMITS, ...options.limits };
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#subAgents = new SubAgents((session, agent, parent, limits) =>
      this.#start(session, agent, { limits, effects: parent.options.effects }, parent),
    );
  }

  /**
   * Starts an agent and returns at once. A session that cannot be stored or is in use elsewhere enters the state
   * `error`.
   *
   * @throws AgentError `session_busy` (already running here), `capacity`, `forbidden`
   */
  spawn(session: AgentSession, agent: AgentFunction, options: SpawnOptions = {}): AgentHandle {
    this.roles?.check(options.by, 'agent.create', session.agentType);
    checkRunLimits(options.limits ?? {});
    return this.#start(session, agent, options, null).handle;
  }

  /** Continues a stored session. @throws AgentError `session_not_found`, `session_corrupt`, `session_busy` */
  async resume(sessionId: string, agent: AgentFunction, options: SpawnOptions = {}): Promise<AgentHandle> {
    if (this.isRunning(sessionId)) throw new AgentError('session_busy', 'the session is running');
    const effects = options.effects ?? this.effects;
    return this.spawn(await AgentSession.load(this.store, sessionId, { effects }), agent, options);
  }

  get(sessionId: string): AgentHandle | undefined {
    return this.#running.get(sessionId)?.handle;
  }

  /**
   * The handle of a running session for one principal, checked by the runtime's roles. @throws AgentError
   * `invalid_config` without roles
   */
  getFor(principal: Principal | undefined, sessionId: string): AgentHandle | undefined {
    if (this.roles === undefined) throw new AgentError('invalid_config', 'the runtime has no roles');
    const running = this.#running.get(sessionId);
    if (running === undefined) return undefined;
    return handleFor(running.handle, running.live.session.agentType, principal, this.roles);
  }

  isRunning(sessionId: string): boolean {
    return this.#running.has(sessionId);
  }

  listActive(): string[] {
    return [...this.#running.keys()];
  }

  async shutdown(sessionId: string): Promise<void> {
    await this.#running.get(sessionId)?.handle.shutdown();
  }

  async shutdownAll(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ handle }) => handle.shutdown()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdownAll();
  }

  #start(session: AgentSession, agent: AgentFunction, options: SpawnOptions, parent: LiveSession | null): Running {
    const { sessionId } = session;
    if (this.#running.has(sessionId)) throw new AgentError('session_busy', 'the session is running');
    if (this.#running.size >= this.#limits.sessions) throw new AgentError('capacity', 'too many sessions are running');
    session.attach(this.store);
    const effects = options.effects ?? this.effects;
    const live = new LiveSession({
      ...{ session, effects, parent, host: this.host, limits: this.#limits, logger: this.#logger },
      guard: this.#guard(effects),
      runLimits: options.limits ?? {},
      ...(options.runId === undefined ? {} : { runId: options.runId }),
      askTimeoutMs: this.#options.askTimeoutMs ?? DEFAULT_ASK_TIMEOUT_MS,
    });
    const finished = this.#run(live, agent);
    const running = { live, handle: new LiveHandle(live, finished) };
    this.#running.set(sessionId, running);
    return running;
  }

  async #run(live: LiveSession, agent: AgentFunction): Promise<void> {
    const { session } = live;
    let lease: SessionLease | undefined;
    try {
      // Yields first, so that the caller can subscribe before anything happens.
      await Promise.resolve();
      await session.flush();
      lease = await this.store.acquire(session.sessionId, live.options.effects.newId());
      await agent(new AgentInternals(live, this.#subAgents));
      await live.finish(undefined);
    } catch (error) {
      await live.finish(error);
    } finally {
      this.#running.delete(session.sessionId);
      await lease?.release().catch((error: unknown) => {
        this.#logger.warn(`lease release failed for session ${session.sessionId}: ${String(error)}`);
      });
    }
  }

  #guard(effects: Effects): RunGuard {
    const { platform, platformOptions } = this.#options;
    const guard = platform === undefined ? localGuard(effects) : platformGuard(platform, effects, platformOptions);
    return recordedGuard(guard, effects);
  }
}

/** Receives the runtime's warnings; silent by default. */
export interface RuntimeLogger {
  warn(message: string): void;
}

const SILENT_LOGGER: RuntimeLogger = { warn: () => undefined };
