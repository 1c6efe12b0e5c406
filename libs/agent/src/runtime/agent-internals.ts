import type { AgentContext } from '../core/agent-context.ts';
import { AgentError } from '../core/agent-error.ts';
import type { AgentEvent, DriverEvent } from '../core/agent-event.ts';
import type { AgentState } from '../core/agent-state.ts';
import type { InputMessage, OutputChunk, PermissionAnswer, PermissionRequest } from '../core/input-output.ts';
import { inputHashOf } from '../core/json.ts';
import { type ToolInfo, ToolResult, type ToolResultBlock } from '../core/message.ts';
import { redactStored } from '../core/redact.ts';
import type { Effects } from '../effects/effects.ts';
import type { Host } from '../host/host.ts';
import type { ModelSource } from '../llm/fallback.ts';
import { guardedModel, type ModelUse } from '../llm/guarded-model.ts';
import type { LLMClient } from '../llm/llm-client.ts';
import type { PermissionManager } from '../permissions/permission-manager.ts';
import type { GuardedRun } from '../platform/run-guard.ts';
import { SafetyLayer } from '../safety/safety-layer.ts';
import type { AgentSession } from '../session/agent-session.ts';
import { unfinishedCalls } from '../session/reopen.ts';
import type { PipelineOptions } from '../tools/pipeline-host.ts';
import type { ToolCall } from '../tools/tool.ts';
import { ToolPipeline } from '../tools/tool-pipeline.ts';
import type { ToolRegistry } from '../tools/tool-registry.ts';
import type { AgentHandle } from './agent-handle.ts';
import type { LiveSession } from './live-session.ts';
import type { ChildOptions, ChildResult, SubAgents } from './sub-agents.ts';

/** The logic of an agent. The agent ends when it returns; an error becomes the state `error`. */
export type AgentFunction = (internals: AgentInternals) => Promise<void>;

export interface ModelOptions {
  readonly safety?: SafetyLayer;
  readonly onUse?: (use: ModelUse) => void;
}

/** Access to the session for an agent's own logic. The driver of `Agent` uses nothing else. */
export class AgentInternals {
  readonly #live: LiveSession;
  readonly #subAgents: SubAgents;

  constructor(live: LiveSession, subAgents: SubAgents) {
    this.#live = live;
    this.#subAgents = subAgents;
  }

  get session(): AgentSession {
    return this.#live.session;
  }

  get context(): AgentContext {
    return this.#live.context;
  }

  get effects(): Effects {
    return this.#live.options.effects;
  }

  get host(): Host {
    return this.#live.options.host;
  }

  /** Aborted when the session is shut down. */
  get signal(): AbortSignal {
    return this.#live.shutdownController.signal;
  }

  /** Aborted with the session, by an interrupt, and when the platform stops the run. */
  get turnSignal(): AbortSignal {
    const { run, turnSignal } = this.#live;
    return run === null ? turnSignal : AbortSignal.any([turnSignal, run.signal]);
  }

  get state(): AgentState {
    return this.#live.state;
  }

  get turn(): number {
    return this.#live.turn;
  }

  /** The run of this turn; null between turns. */
  get run(): GuardedRun | null {
    return this.#live.run;
  }

  /** Setting `idle` ends the turn. */
  setState(state: AgentState): void {
    this.#live.setState(state);
  }

  /** Waits for the next input and begins a turn. Stores the previous turn first. */
  async receive(): Promise<InputMessage> {
    await this.endTurn('success');
    const message = await this.#live.inbox.receive();
    if (message.type === 'user-input') {
      await this.beginTurn();
      this.#answerOpenCalls();
    }
    return message;
  }

  /** Input to use between two steps of this turn, if there is any. */
  steering(): InputMessage | undefined {
    return this.#live.inbox.take((message) => message.type === 'user-input' && message.steer);
  }

  /** The result of a tool that runs elsewhere, sent with `handle.sendToolResult`. Ends with the turn. */
  async toolResult(toolUseId: string): Promise<ToolResult> {
    const wanted = (message: InputMessage) =>
      (message.type === 'tool-result' && message.toolUseId === toolUseId) || message.type === 'interrupt';
    const message = await this.#live.inbox.receive(wanted);
    if (message.type === 'tool-result') return message.result;
    return ToolResult.error('interrupted', 'The call was interrupted.');
  }

  /** Begins a turn without input, such as one that continues after a crash. */
  beginTurn(): Promise<void> {
    return this.#live.beginTurn();
  }

  async endTurn(status: 'success' | 'error' | 'interrupted'): Promise<void> {
    const interrupted = this.#live.turnSignal.aborted;
    await this.#live.endTurn(status === 'success' && interrupted ? 'interrupted' : status);
    if (this.#live.state.kind !== 'idle') this.#live.move({ type: interrupted ? 'interrupt' : 'turn-done' });
  }

  send(chunk: OutputChunk | DriverEvent): void {
    this.#live.emit(chunk);
  }

  /**
   * Calls `observer` synchronously with each event until the returned function is called. For observers that must not
   * lag.
   */
  observe(observer: (event: AgentEvent) => void): () => void {
    return this.#live.observe(observer);
  }

  /** Answers a permission request of this session or a sub-agent. @throws AgentError `stale_answer` */
  respond(answer: PermissionAnswer): void {
    this.#live.respond(answer);
  }

  /** Denies a request that is still open. */
  refuse(requestId: string): void {
    if (this.#live.isAsking(requestId))
      this.#live.respond({ requestId, decision: 'deny', message: 'no one could be asked' });
  }

  /** Asks a human and waits for the answer to this request; other input keeps its place. */
  async askPermission(call: ToolCall, info: ToolInfo): Promise<PermissionAnswer> {
    const live = this.#live;
    const inputHash = inputHashOf(call.name, call.input);
    const requestId = this.effects.newId();
    const { id: toolUseId, name: toolName } = call;
    live.move({ type: 'ask', requestId });
    this.send(requestOf(call, info, requestId, inputHash));
    try {
      const asked = { do: 'ask', toolUseId, toolName, inputHash };
      const { by, ...answer } = await this.effects.perform('answer', asked, () => this.#answer(requestId, inputHash));
      this.send({ type: 'permission-response', requestId, toolUseId, toolName, decision: answer.decision, by });
      return answer;
    } finally {
      if (!live.turnSignal.aborted) live.move({ type: 'answered', requestId });
    }
  }

  /** A model of this session: limited, guarded, recorded, and visible to the session's listeners. */
  model(source: ModelSource, options: ModelOptions = {}): LLMClient {
    const live = this.#live;
    return guardedModel(
      {
        effects: this.effects,
        get run() {
          return runOf(live);
        },
        get turnSignal() {
          return live.turnSignal;
        },
        unpriced: live.unpriced,
        ...(options.safety === undefined ? {} : { safety: options.safety }),
        emit: (event) => live.emit(event),
        used: (use) => {
          live.addUsage(use.response.usage);
          options.onUse?.(use);
        },
      },
      source,
    );
  }

  /** Runs tool calls through the complete pipeline, from the schema to the history. */
  tools(
    registry: ToolRegistry,
    permissions: PermissionManager,
    options: Partial<Omit<PipelineOptions, 'registry' | 'permissions'>> = {},
  ): ToolPipeline {
    const live = this.#live;
    const { parent } = live.options;
    const floored =
      parent?.permissions == null ? permissions : permissions.withFloorOf(parent.permissions, parent.context);
    live.permissions = floored;
    return new ToolPipeline(
      {
        session: live.session,
        context: live.context,
        effects: this.effects,
        get run() {
          return runOf(live);
        },
        get turnSignal() {
          return live.turnSignal;
        },
        emit: (event) => live.emit(event),
        move: (event) => live.move(event),
        ask: (call, info) => this.askPermission(call, info),
      },
      { safety: new SafetyLayer(), ...options, registry, permissions: floored },
    );
  }

  /** Starts a child agent. Waits for its answer, or returns its handle with `background`. */
  spawnChild(
    agentType: string,
    agent: AgentFunction,
    options: ChildOptions & { readonly background: true },
  ): AgentHandle;
  spawnChild(agentType: string, agent: AgentFunction, options: ChildOptions): Promise<ChildResult>;
  spawnChild(agentType: string, agent: AgentFunction, options: ChildOptions): Promise<ChildResult> | AgentHandle {
    return options.background === true
      ? this.#subAgents.inBackground(this.#live, agentType, agent, options)
      : this.#subAgents.andWait(this.#live, agentType, agent, options);
  }

  async #answer(
    requestId: string,
    inputHash: string,
  ): Promise<PermissionAnswer & { readonly by: 'human' | 'timeout' }> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(LATE), this.#live.options.askTimeoutMs);
    try {
      const signal = AbortSignal.any([this.turnSignal, late.signal]);
      return { ...(await this.#live.requests.wait(requestId, inputHash, signal)), by: 'human' };
    } catch (error) {
      if (error !== LATE) throw error;
      return { requestId, decision: 'deny', message: 'no answer in time', by: 'timeout' };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Settles open calls for a loop that does not, because a model rejects calls without results. */
  #answerOpenCalls(): void {
    const open = unfinishedCalls(this.session);
    if (open.length === 0) return;
    const content = open.map(({ call, ...rest }): ToolResultBlock => {
      const { output, isError } =
        'result' in rest
          ? rest.result
          : ToolResult.error('interrupted', 'The call was interrupted; it may have happened.');
      return { type: 'tool_result', toolUseId: call.id, name: call.name, content: output, isError };
    });
    this.session.addMessage({ role: 'user', content });
  }
}

function requestOf(call: ToolCall, info: ToolInfo, requestId: string, inputHash: string): PermissionRequest {
  return {
    ...{ type: 'permission-request', requestId, toolUseId: call.id, toolName: call.name, inputHash },
    action: redactStored(info.actionDescription),
    ...(info.details === undefined ? {} : { details: redactStored(info.details) }),
    input: redactStored(call.input),
    allowed: ['approve', 'edit', 'reject'],
  };
}

const LATE = new AgentError('denied', 'no answer in time');

function runOf(live: LiveSession): GuardedRun {
  if (live.run === null)
    throw new AgentError('illegal_transition', 'models and tools can only be used within a turn: call receive first');
  return live.run;
}
