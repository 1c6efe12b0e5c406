import { AgentError, errorInfo, messageOf } from '../core/agent-error.ts';
import type { AgentEvent } from '../core/agent-event.ts';
import type { PermissionRequest } from '../core/input-output.ts';
import { type Json, toJson } from '../core/json.ts';
import type { ContentBlock } from '../core/message.ts';
import type { Effects } from '../effects/effects.ts';
import { seededEffects } from '../effects/seeded-effects.ts';
import { type ModelProvider, ProviderHealth } from '../llm/model-provider.ts';
import { PermissionManager } from '../permissions/permission-manager.ts';
import type { PermissionRule } from '../permissions/rule.ts';
import { recordingEffects } from '../replay/recording.ts';
import { type ReplayingEffects, replayingEffects } from '../replay/replaying.ts';
import type { AgentFunction, AgentInternals } from '../runtime/agent-internals.ts';
import { AgentRuntime } from '../runtime/agent-runtime.ts';
import { checkRunLimits, type RunLimits } from '../runtime/capacity.ts';
import type { Principal } from '../security/roles.ts';
import { hasUnfinishedTurn } from '../session/reopen.ts';
import { ToolRegistry } from '../tools/tool-registry.ts';
import { ActiveSession } from './active-session.ts';
import { type AgentConfig, callHooks, type RunOptions } from './agent-config.ts';
import type { AgentResult, EventHandler } from './agent-result.ts';
import { DEFAULT_MAX_STEPS, type PreparedTurn, prepareTurn, type RenderedTemplate } from './prepare-turn.ts';
import { RunRecord, storeEvents } from './run-record.ts';
import { DRIVER, subAgentTool } from './sub-agent-tool.ts';

export interface Health {
  readonly ok: boolean;
  readonly activeSessions: number;
  readonly providers: Readonly<Record<string, { readonly failuresInARow: number; readonly latencyMs?: number }>>;
}

/** How a session of an agent is driven. */
export interface DriveOptions {
  readonly canAsk?: boolean;
  readonly run?: RunOptions;
  /** Whether the turn must stop or not start. */
  readonly isAborted?: () => boolean;
  /** Called with each turn's result. */
  readonly onResult?: (result: AgentResult) => void;
}

/**
 * An agent built from its configuration: plans, acts, reflects and returns a result. Its sessions share nothing else.
 */
export class Agent implements AsyncDisposable {
  readonly id: string;
  readonly tools: ToolRegistry;
  readonly runtime: AgentRuntime;
  readonly #config: AgentConfig;
  readonly #permissions: PermissionManager;
  readonly #providers: readonly ModelProvider[];
  readonly #health = new ProviderHealth();
  readonly #handlers = new Map<string, Set<EventHandler>>();
  readonly #ownsRuntime: boolean;

  constructor(config: AgentConfig) {
    this.#config = config;
    this.id = config.id;
    this.tools = new ToolRegistry(config.tools ?? []);
    this.runtime = config.runtime ?? new AgentRuntime();
    this.#ownsRuntime = config.runtime === undefined;
    const { permissions = [] } = config;
    this.#permissions = isManager(permissions)
      ? permissions
      : new PermissionManager({ tools: this.tools, rules: permissions });
    this.#providers = config.modelProviders.map((given, index) =>
      'client' in given ? given : { id: `model-${index + 1}`, client: given },
    );
    checkRunLimits(this.runLimits);
    for (const [name, agent] of Object.entries(config.subAgents ?? {})) this.addSubAgent(name, agent);
  }

  /** The principal it acts as. */
  get principal(): Principal | undefined {
    return this.#config.role;
  }

  get runLimits(): Partial<RunLimits> {
    return { ...this.#config.limits, maxSteps: this.#config.maxSteps ?? DEFAULT_MAX_STEPS };
  }

  /** Runs one task to its end. Never rejects because of the run; the result reports errors. */
  async run(options: RunOptions = {}): Promise<AgentResult> {
    await using active = this.createSession(options);
    return await active.run();
  }

  runOnce(options?: RunOptions): Promise<AgentResult> {
    return this.run(options);
  }

  /** Creates a session for several turns, or to observe one. */
  createSession(options: RunOptions = {}): ActiveSession {
    if (options.events === 'stored' && this.#config.databaseClient === undefined)
      throw new AgentError('invalid_config', 'stored events need a databaseClient on the agent');
    return new ActiveSession(this, options, this.effectsFor(options));
  }

  on(event: 'step' | 'tool' | 'error' | 'metrics' | AgentEvent['type'], handler: EventHandler): () => void {
    const type = event === 'step' ? 'step-start' : event === 'tool' ? 'tool-end' : event;
    const handlers = this.#handlers.get(type) ?? new Set();
    this.#handlers.set(type, handlers.add(handler));
    return () => handlers.delete(handler);
  }

  addSubAgent(name: string, agent: Agent): void {
    this.tools.register(subAgentTool(name, agent));
  }

  async health(): Promise<Health> {
    const providers = this.#providers.map(({ id }) => {
      const latencyMs = this.#health.latencyMs(id);
      return [
        id,
        { failuresInARow: this.#health.failuresInARow(id), ...(latencyMs === undefined ? {} : { latencyMs }) },
      ] as const;
    });
    const ok = providers.length === 0 || providers.some(([, { failuresInARow }]) => failuresInARow === 0);
    return { ok, activeSessions: this.runtime.listActive().length, providers: Object.fromEntries(providers) };
  }

  /** Ends its sessions and releases its models. */
  async stop(): Promise<void> {
    if (this.#ownsRuntime) {
      await this.runtime.shutdownAll();
      await this.runtime.host.close();
    }
    for (const { client } of this.#providers) await client.close?.();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  effectsFor({ record, replay, seed, startAt }: RunOptions): Effects {
    if (replay !== undefined) return replayingEffects(replay);
    if (record !== undefined)
      return recordingEffects(record, {
        ...(seed === undefined ? {} : { seed }),
        ...(startAt === undefined ? {} : { startAt }),
      });
    if (seed !== undefined) return seededEffects({ seed, ...(startAt === undefined ? {} : { startAt }) });
    return this.runtime.effects;
  }

  /** This agent as the logic of a session. */
  asFunction(options: DriveOptions = {}): AgentFunction {
    return (internals) => this.#drive(internals, options);
  }

  async #drive(internals: AgentInternals, options: DriveOptions): Promise<void> {
    const canAsk = options.canAsk ?? this.#config.onPermissionRequest !== undefined;
    internals.context.insertResource(DRIVER, { internals, canAsk });
    const stopListening = internals.observe((event) => this.#onEvent(event, internals));
    try {
      if (hasUnfinishedTurn(internals.session)) {
        await internals.beginTurn();
        await this.#turn(internals, undefined, canAsk, options);
      }
      for (;;) {
        const message = await internals.receive();
        if (message.type === 'shutdown') return;
        if (message.type === 'user-input') await this.#turn(internals, message.content, canAsk, options);
      }
    } finally {
      stopListening();
    }
  }

  /** One turn. Errors become its result and leave the session usable. */
  async #turn(
    internals: AgentInternals,
    input: readonly ContentBlock[] | undefined,
    canAsk: boolean,
    options: DriveOptions,
  ): Promise<void> {
    const { session, effects, run } = internals;
    const { events = 'none' } = options.run ?? {};
    const record = new RunRecord({
      agentId: this.id,
      sessionId: session.sessionId,
      runId: run?.id ?? '',
      effects,
      events,
    });
    const stopRecording = internals.observe(record.onEvent);
    let result: AgentResult;
    try {
      if (options.isAborted?.() === true)
        throw new AgentError('aborted', 'the run was stopped by its caller before it began');
      const answer = await this.#turnOf(internals, record, canAsk, options.run ?? {}).run(input);
      // A sub-agent shares the recording of the whole run, which continues after it.
      if (session.parentSessionId === null && isReplaying(effects)) effects.assertFinished();
      const done = answer === undefined ? {} : { result: toJson(answer) };
      internals.send({ type: 'done', ...done });
      result = record.finish(answer === undefined ? {} : { result: answer });
    } catch (error) {
      const cause = internals.turnSignal.aborted ? reasonOf(internals, error) : error;
      internals.send({ type: 'error', error: errorInfo(cause) });
      result = record.finish({ error: cause });
    } finally {
      stopRecording();
    }
    if (events === 'stored' && this.#config.databaseClient !== undefined)
      await storeEvents(this.#config.databaseClient, result.runId, record.events);
    await internals.endTurn(result.success ? 'success' : result.aborted === true ? 'interrupted' : 'error');
    this.#emit('metrics', { type: 'metrics', metrics: result.metrics }, internals);
    options.onResult?.(result);
  }

  #turnOf(internals: AgentInternals, record: RunRecord, canAsk: boolean, run: RunOptions): PreparedTurn {
    return prepareTurn({
      ...{ config: this.#config, tools: this.tools, permissions: this.#permissions, providers: this.#providers },
      ...{ health: this.#health, roles: this.runtime.roles, internals, record, canAsk, run },
      task: (rendered) => this.taskText(run, rendered),
    });
  }

  /**
   * The task, rendered if it is a template. @throws AgentError `invalid_config`, `missing_variables`,
   * `template_invalid`
   */
  async taskText(
    run: Pick<RunOptions, 'params'>,
    rendered: (template: RenderedTemplate) => void = () => undefined,
  ): Promise<string> {
    const { taskPrompt, promptStore } = this.#config;
    if (typeof taskPrompt === 'string') return taskPrompt;
    if (promptStore === undefined) throw new AgentError('invalid_config', 'a task from a template needs a promptStore');
    const { templateId, version, params = {} } = taskPrompt;
    const all: Readonly<Record<string, Json>> = { ...params, ...run.params };
    const { text, meta } = await promptStore.render(templateId, all, version === undefined ? {} : { version });
    rendered({ id: templateId, version: meta.version, hash: meta.hash });
    return text;
  }

  #onEvent(event: AgentEvent, internals: AgentInternals): void {
    if (event.type === 'warning') return;
    this.#emit(event.type, event, internals);
    const { hooks, onPermissionRequest } = this.#config;
    if (hooks !== undefined) guarded(internals, `hook ${event.type}`, () => callHooks(hooks, event));
    const request = requestIn(event);
    if (request !== undefined && typeof onPermissionRequest === 'function')
      void this.#answer(request, internals, onPermissionRequest);
  }

  async #answer(
    request: PermissionRequest,
    internals: AgentInternals,
    ask: Exclude<AgentConfig['onPermissionRequest'], 'handle' | undefined>,
  ): Promise<void> {
    const { requestId, inputHash } = request;
    try {
      internals.respond({ inputHash, ...(await ask(request)), requestId });
    } catch (error) {
      internals.send({ type: 'warning', message: `answering the permission request failed: ${messageOf(error)}` });
      internals.refuse(requestId);
    }
  }

  #emit(type: string, event: Parameters<EventHandler>[0], internals: AgentInternals): void {
    for (const handler of this.#handlers.get(type) ?? [])
      guarded(internals, `handler of ${type}`, () => handler(event));
  }
}

/** A request of this session or one of its sub-agents. */
function requestIn(event: AgentEvent): PermissionRequest | undefined {
  if (event.type === 'permission-request') return event;
  return event.type === 'subagent-output' ? requestIn(event.chunk) : undefined;
}

function guarded(internals: AgentInternals, what: string, call: () => void): void {
  try {
    call();
  } catch (error) {
    internals.send({ type: 'warning', message: `${what} failed: ${messageOf(error)}` });
  }
}

function reasonOf({ turnSignal }: AgentInternals, error: unknown): unknown {
  const { reason } = turnSignal;
  return reason instanceof Error && reason.name === 'AgentError'
    ? reason
    : reason instanceof Error
      ? new AgentError('run_ended', reason.message)
      : error;
}

function isManager(value: PermissionManager | readonly PermissionRule[]): value is PermissionManager {
  return value instanceof PermissionManager;
}

function isReplaying(effects: Effects): effects is ReplayingEffects {
  return effects.replaying && 'assertFinished' in effects;
}
