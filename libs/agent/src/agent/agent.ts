import { AgentError, errorInfo, messageOf } from '../core/agent-error.ts';
import type { AgentEvent } from '../core/agent-event.ts';
import type { Json } from '../core/json.ts';
import { toJson } from '../core/json.ts';
import type { ContentBlock } from '../core/message.ts';
import type { PermissionRequest } from '../core/output-chunk.ts';
import type { Effects } from '../effects/effects.ts';
import { seededEffects } from '../effects/seeded-effects.ts';
import { providerPool } from '../llm/fallback.ts';
import type { LLMClient } from '../llm/llm-client.ts';
import { type ModelProvider, ProviderHealth } from '../llm/model-provider.ts';
import { filteredDatabase, filteredMemory, type MemoryGate } from '../memory/filtered-memory.ts';
import { DATABASE, MEMORY } from '../memory/resources.ts';
import { PermissionManager } from '../permissions/permission-manager.ts';
import type { PermissionRule } from '../permissions/rule.ts';
import { recordingEffects } from '../replay/recording.ts';
import { type ReplayingEffects, replayingEffects } from '../replay/replaying.ts';
import type { AgentFunction, AgentInternals } from '../runtime/agent-internals.ts';
import { AgentRuntime } from '../runtime/agent-runtime.ts';
import type { RunLimits } from '../runtime/capacity.ts';
import { SafetyLayer } from '../safety/safety-layer.ts';
import type { Principal } from '../security/roles.ts';
import { hasUnfinishedTurn } from '../session/reopen.ts';
import type { ActionResult } from '../tools/action-result.ts';
import { ToolRegistry } from '../tools/tool-registry.ts';
import { ActiveSession } from './active-session.ts';
import type { AgentConfig, RunOptions } from './agent-config.ts';
import type { AgentResult, EventHandler } from './agent-result.ts';
import { callHooks } from './hooks.ts';
import { modelPlanner } from './model-planner.ts';
import { planReflector } from './reflector.ts';
import { RunRecord } from './run-record.ts';
import { DRIVER, subAgentTool } from './sub-agent-tool.ts';
import { Turn } from './turn.ts';

export interface Health {
  readonly ok: boolean;
  readonly activeSessions: number;
  readonly providers: Readonly<Record<string, { readonly failuresInARow: number; readonly latencyMs?: number }>>;
}

/** How one session of an agent is driven. */
export interface DriveOptions {
  readonly canAsk?: boolean;
  readonly run?: RunOptions;
  /** Told of each turn's result. */
  readonly onResult?: (result: AgentResult) => void;
}

const DEFAULT_MAX_STEPS = 10;

/** An agent from its configuration: plans, acts, reflects, and answers a result. Sessions share nothing but it. */
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
    for (const [name, agent] of Object.entries(config.subAgents ?? {})) this.addSubAgent(name, agent);
  }

  /** As whom it acts. */
  get principal(): Principal | undefined {
    return this.#config.role;
  }

  get runLimits(): Partial<RunLimits> {
    return { ...this.#config.limits, maxSteps: this.#config.maxSteps ?? DEFAULT_MAX_STEPS };
  }

  /** Runs one task from its beginning to its end. Never rejects for what happens in the run: the result tells. */
  async run(options: RunOptions = {}): Promise<AgentResult> {
    await using active = this.createSession(options);
    return await active.run();
  }

  runOnce(options?: RunOptions): Promise<AgentResult> {
    return this.run(options);
  }

  /** A session of this agent, for several turns or to watch one. */
  createSession(options: RunOptions = {}): ActiveSession {
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

  /** Ends its sessions and lets go of its models. */
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
    const stopListening = internals.observe((event) => this.#hear(event, internals));
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

  /** One turn. What goes wrong in it is its result and leaves the session usable. */
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
      const answer = await this.#plannedTurn(internals, record, input, canAsk, options.run ?? {});
      if (isReplaying(effects)) effects.assertFinished();
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
    await internals.endTurn(result.success ? 'success' : result.aborted === true ? 'interrupted' : 'error');
    this.#emit('metrics', { type: 'metrics', metrics: result.metrics }, internals);
    options.onResult?.(result);
  }

  async #plannedTurn(
    internals: AgentInternals,
    record: RunRecord,
    input: readonly ContentBlock[] | undefined,
    canAsk: boolean,
    run: RunOptions,
  ): Promise<unknown> {
    const {
      planner = modelPlanner(),
      reflector = planReflector,
      executor,
      safety: policy,
      output,
      memoryPolicy = {},
    } = this.#config;
    const safety = new SafetyLayer(policy);
    const { task, system } = await this.#task(internals, record, run);
    const gate = this.#gate(internals, record, safety);
    const memory =
      this.#config.memoryClient === undefined ? undefined : filteredMemory(this.#config.memoryClient, gate);
    const database =
      this.#config.databaseClient === undefined ? undefined : filteredDatabase(this.#config.databaseClient, gate);
    if (memory !== undefined) internals.context.insertResource(MEMORY, memory);
    if (database !== undefined) internals.context.insertResource(DATABASE, database);
    const { rulesFile } = this.#config;
    const pipeline = internals.tools(this.tools, this.#permissions, {
      ...{ safety, canAsk, onActions: (actions: readonly ActionResult[]) => record.addActions(actions) },
      ...(rulesFile === undefined
        ? {}
        : { remember: (permissions: PermissionManager) => permissions.saveToFile(rulesFile) }),
    });
    const turn = new Turn({
      ...{
        internals,
        planner,
        reflector,
        executor,
        pipeline,
        safety,
        record,
        memory,
        database,
        memoryPolicy,
        output,
        task,
      },
      tools: this.tools.getDefinitions().filter(({ name }) => safety.allowsTool(name)),
      model: this.#model(internals, record, safety),
      callOptions: { ...this.#config.callOptions, ...(system === undefined ? {} : { system }) },
      maxSteps: run.maxSteps ?? this.#config.maxSteps ?? DEFAULT_MAX_STEPS,
    });
    return turn.run(input);
  }

  #model(internals: AgentInternals, record: RunRecord, safety: SafetyLayer): LLMClient | null {
    if (this.#providers.length === 0) return null;
    const { selectProvider: select, retry, costCeilingUsd } = this.#config;
    const pool = providerPool({
      ...{ providers: this.#providers, health: this.#health },
      ...(select === undefined ? {} : { select }),
      ...(retry?.model === undefined ? {} : { retry: retry.model }),
      ...(costCeilingUsd === undefined ? {} : { costCeilingUsd }),
    });
    return internals.model(pool, { safety, onUse: record.addModelUse });
  }

  #gate(internals: AgentInternals, record: RunRecord, safety: SafetyLayer): MemoryGate {
    const { memoryPolicy, role } = this.#config;
    return {
      ...{ effects: internals.effects, safety, changed: record.addChange },
      emit: (event) => internals.send(event),
      ...(this.runtime.roles === undefined ? {} : { roles: this.runtime.roles }),
      ...(role === undefined ? {} : { principal: role }),
      ...(memoryPolicy?.ttlMs === undefined ? {} : { ttlMs: memoryPolicy.ttlMs }),
    };
  }

  /** What the agent is to do: the model's system prompt where there is input beside it. */
  async #task(
    internals: AgentInternals,
    record: RunRecord,
    run: RunOptions,
  ): Promise<{ readonly task: string; readonly system: string | undefined }> {
    const task = await this.taskText(run, (rendered) => {
      record.template = rendered;
      const { id: templateId, version, hash } = rendered;
      internals.send({ type: 'prompt-rendered', templateId, version, hash });
    });
    const isTask = internals.session.getMetadata(TASK_IS_INPUT) === true;
    return { task, system: isTask ? undefined : task };
  }

  /** The task, rendered where it is a template. @throws AgentError `invalid_config`, `missing_variables`, `template_invalid` */
  async taskText(
    run: Pick<RunOptions, 'params'>,
    rendered: (template: { readonly id: string; readonly version: string; readonly hash: string }) => void = () =>
      undefined,
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

  #hear(event: AgentEvent, internals: AgentInternals): void {
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
      internals.send({ type: 'warning', message: `the permission request could not be answered: ${messageOf(error)}` });
      internals.refuse(requestId);
    }
  }

  #emit(type: string, event: Parameters<EventHandler>[0], internals: AgentInternals): void {
    for (const handler of this.#handlers.get(type) ?? [])
      guarded(internals, `handler of ${type}`, () => handler(event));
  }
}

/** The session's first input was the task itself. */
export const TASK_IS_INPUT = 'task_is_input';

/** A request of this session, or of one below it. */
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
