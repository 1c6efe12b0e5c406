import type { OperatorOrders, OrderedState } from '../guard/operator-orders.ts';
import type { Settings } from '../options.ts';
import type { RuntimeClock } from '../runtime/runtime.ts';
import type { EventSink } from '../sink/event-sink.ts';
import type { BreakerLimits, BreakerState } from '../wire/contract.ts';
import type { Decision } from '../wire/decision.ts';
import { BYPASSES } from '../wire/failures.ts';
import { type AgentMessage, type Lockdown, type RunEnding, type RunStatus, statusOfEnding } from '../wire/model.ts';
import type { ModelCallFacts, ModelResponseLike } from '../wire/model-response.ts';
import type { Server } from '../wire/server.ts';
import { type Decider, type DecisionQuestion, stopped } from './decider.ts';
import { ModelCalls } from './model-calls.ts';
import { RunBreaker } from './run-breaker.ts';
import type { ApprovalWait, LlmCallOptions, RunConfig, ToolCallOptions } from './run-config.ts';
import { RunControl } from './run-control.ts';
import { bypassData, startedData } from './run-events.ts';
import { RunQuestions } from './run-questions.ts';
import { RunStory } from './run-story.ts';
import { ToolCalls } from './tool-calls.ts';

/** Timers of one run. They never keep the process alive, and all are cleared when the run ends. */
class RunTimers {
  readonly #clock: RuntimeClock;
  readonly #running = new Set<() => void>();
  #stopped = false;

  constructor(clock: RuntimeClock) {
    this.#clock = clock;
  }

  after(ms: number, run: () => void): void {
    if (this.#stopped) return;
    const cancel = this.#clock.timer(() => {
      this.#running.delete(cancel);
      run();
    }, ms);
    this.#running.add(cancel);
  }

  every(ms: number, run: () => void): void {
    this.after(ms, () => {
      run();
      this.every(ms, run);
    });
  }

  stop(): void {
    this.#stopped = true;
    for (const cancel of this.#running) cancel();
    this.#running.clear();
  }
}

/** What a run needs from its client. */
export interface RunHost {
  readonly settings: Settings;
  readonly clock: RuntimeClock;
  readonly sink: EventSink;
  readonly server: Pick<Server, 'endRun' | 'heartbeat'>;
  readonly instanceId: string;
  readonly decider: Decider;
  readonly orders: OperatorOrders;
  newId(): string;
  warn(message: string): void;
  /** Logs a warning for the developer, the first time only. */
  warnOnce(message: string): void;
  breakerLimits(): BreakerLimits | null;
  agentId(): Promise<string | undefined>;
  /** Resolves when an approval may have been decided, or after `ms`. */
  nextApproval(ms: number): Promise<void>;
  ended(run: Run): void;
}

const ASYNC_DISPOSE: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');
/**
 * One execution of the agent: a request, a turn of a conversation, a job. Call its hooks around model and tool calls.
 * They never throw because the platform is unavailable and never wait longer than the deadline.
 */
export class Run {
  readonly id: string;
  readonly sessionId: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly #config: RunConfig;
  readonly #host: RunHost;
  readonly #story: RunStory;
  readonly #controlState: RunControl;
  readonly #breaker: RunBreaker;
  readonly #questions: RunQuestions;
  readonly #modelCalls: ModelCalls;
  readonly #toolCalls: ToolCalls;
  readonly #timers: RunTimers;
  readonly #enforces: boolean;
  #failed = false;
  #status: RunStatus | undefined;
  #ending: Promise<void> | undefined;

  constructor(id: string, config: RunConfig, host: RunHost) {
    this.id = id;
    this.tags = config.tags ?? {};
    this.#config = config;
    this.#host = host;
    this.#timers = new RunTimers(host.clock);
    const { clock, sink, orders } = host;
    const settings = { ...host.settings, ...(config.enforceMode ? { enforceMode: config.enforceMode } : {}) };
    const { sessionId, actor, parentRunId, parentToolUseId } = config;
    const newId = () => host.newId();
    this.sessionId = sessionId;
    const ref = { runId: id, sessionId, actorExternalId: actor?.externalId, parentRunId, parentToolUseId };
    const { recordContent, redactMessage } = settings;
    const story = new RunStory(ref, { clock, sink, newId, recordContent, redactMessage });
    this.#story = story;
    const enforces = settings.enforceMode === 'enforce';
    this.#enforces = enforces;
    this.#controlState = new RunControl({ runId: id, parentRunId, orders, clock, enforces });
    const breaker = new RunBreaker(
      () => host.breakerLimits(),
      () => clock.now(),
      (reason) => story.tell('breaker.tripped', { reason, scope: 'run' }),
    );
    this.#breaker = breaker;
    const questions = new RunQuestions(
      host.decider,
      {
        ...{ runId: id, sessionId, actor, tags: this.tags, enforceMode: settings.enforceMode },
        ancestors: () => this.#controlState.ancestors,
        controlState: () => this.controlState,
        keyRefused: () => this.keyRefused(),
        breakerRefuses: (question) => breakerRefuses(breaker, question),
      },
      (decision, { toolName }) => {
        const { bypass, verdict } = decision;
        if (bypass === undefined) return;
        story.tell('decision.bypassed', bypassData(decision, bypass, toolName));
        const did = verdict === 'ALLOW' ? 'let through' : 'refused';
        host.warn(`a call was ${did} without a decision: ${BYPASSES[bypass].happened}`);
      },
    );
    this.#questions = questions;
    const { signal } = this.#controlState;
    const nextApproval = (ms: number) => host.nextApproval(ms);
    this.#modelCalls = new ModelCalls({
      ...{ story, breaker, questions, newId, model: config.model, adapter: config.adapter },
      warnOnce: (message) => host.warnOnce(message),
    });
    this.#toolCalls = new ToolCalls({ settings, clock, story, breaker, questions, newId, signal, nextApproval });
    this.#begin();
  }

  /** Monotonic ms of the client's clock; for measuring calls. */
  elapsed(): number {
    return this.#host.clock.elapsed();
  }

  /** Returns an id for a model or tool call of a framework without ids. */
  newCallId(): string {
    return this.#host.newId();
  }

  /** Number of completed tool calls. */
  get stepIndex(): number {
    return this.#story.stepIndex;
  }

  get isEnded(): boolean {
    return this.#ending !== undefined;
  }

  get status(): RunStatus | 'running' {
    return this.#status ?? 'running';
  }

  /** Aborted when the run is killed or its TTL expires. Pass it to model and tool calls to stop them in the middle. */
  get signal(): AbortSignal {
    return this.#controlState.signal;
  }

  /** Why no further call is allowed: a rule ended the run, it failed closed, or an operator killed it. */
  get stopped(): Decision | undefined {
    const controlState = this.controlState;
    if (controlState.state !== 'killed' || !this.#enforces) return this.#questions.stopped;
    const { id: callId } = controlState;
    return { ...stopped(controlState), phase: 'tool.before', callId, args: {} };
  }

  /** Model set by an operator. */
  get modelOverride(): string | null {
    return this.#controlState.modelOverride;
  }

  get breakerState(): BreakerState {
    return this.#breaker.state;
  }

  /** State required by an operator, the server at the start, or the run's TTL. */
  get controlState(): OrderedState {
    return this.#controlState.now;
  }

  /**
   * Call before a model call with the messages to send. Records the new ones and returns all of them as they should be
   * sent.
   *
   * @throws AgentStopped if the call is refused
   */
  async beforeLlm<M extends AgentMessage>(messages: readonly M[], options: LlmCallOptions = {}): Promise<M[]> {
    return this.#modelCalls.before(messages, options);
  }

  /** Call after a model call, also after a failed one (`error`). */
  async afterLlm(response: ModelResponseLike, about: ModelCallFacts = {}): Promise<void> {
    this.#modelCalls.after(response, about);
  }

  /** Call before a tool runs. On BLOCK do not run it; with TERMINATE also end the agent's loop. Use `decision.args`. */
  async beforeTool(
    name: string,
    args: unknown,
    tagsOrOptions: readonly string[] | ToolCallOptions = {},
  ): Promise<Decision> {
    return this.#toolCalls.before(name, args, optionsOf(tagsOrOptions));
  }

  /** Call after a tool ran or threw. On BLOCK the result must not be used. */
  async afterTool(
    name: string,
    args: unknown,
    result: unknown,
    durationMs?: number,
    error?: unknown,
    tagsOrOptions: readonly string[] | ToolCallOptions = {},
  ): Promise<Decision> {
    return this.#toolCalls.after(name, { args, result, durationMs, error }, optionsOf(tagsOrOptions));
  }

  /** Polls a waiting call until a human decides, the run is stopped or the wait times out. */
  async waitForApproval(name: string, pending: Decision, wait: ApprovalWait & ToolCallOptions = {}): Promise<Decision> {
    return this.#toolCalls.waitForApproval(name, pending, wait);
  }

  /** Adds a custom event to the run. */
  record(kind: string, data: Readonly<Record<string, unknown>>): void {
    this.#breaker.observe(kind, data);
    this.#story.tell(kind, data);
  }

  /** Ends the run and waits, within limits, until all its events are sent. Idempotent. */
  end(ending: RunEnding = 'success'): Promise<void> {
    this.#ending ??= this.#finish(this.#statusOf(ending));
    return this.#ending;
  }

  /** Used by `withRun` for a run that ends when its block is left. */
  noteFailure(): void {
    this.#failed = true;
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.end(this.#failed ? 'error' : 'success');
  }

  /** The server's answer to the run's start or to a heartbeat. */
  lockDown(lockdown: Lockdown): void {
    this.#controlState.lockDown(lockdown);
  }

  /** The platform rejects the key: every call of the run is refused from now on. */
  keyRefused(): void {
    this.#controlState.keyRefused();
  }

  /** An order arrived that may concern this run. Connected processes receive all orders. */
  ordersChanged(): void {
    this.#controlState.ordersChanged();
  }

  /** Closes the breaker of this run, for an operator's reset. */
  resetBreaker(): void {
    this.#breaker.reset();
  }

  #begin(): void {
    const { agent, heartbeatMs } = this.#host.settings;
    const { runTtlMs } = this.#config;
    this.#story.tell('run.started', startedData(this.#config, agent));
    if (runTtlMs !== undefined) this.#timers.after(runTtlMs, () => this.#expire());
    if (heartbeatMs > 0) this.#timers.every(heartbeatMs, () => void this.#heartbeat(heartbeatMs));
  }

  /** Sends a heartbeat and applies the answer, for processes without an order stream. */
  async #heartbeat(everyMs: number): Promise<void> {
    const agentId = await this.#host.agentId();
    if (agentId === undefined) return;
    const asked = await this.#host.server.heartbeat(this.id, agentId, this.#host.instanceId, everyMs);
    if (this.isEnded) return;
    if (asked.ok) this.lockDown(asked.value);
    else if (asked.why === 'key_refused') this.keyRefused();
  }

  #statusOf(ending: RunEnding): RunStatus {
    const status = statusOfEnding(ending);
    // A run that a rule, an order or its breaker stopped, or that failed closed, has not succeeded, even if its program says so.
    if (status !== 'timeout' && this.#enforces && this.#questions.isHeld) return 'interrupted';
    if (status !== undefined) return status;
    this.#host.warnOnce(
      'run.end was given a status that it does not know, so the run ends as `error`; there are success, error, timeout and interrupted',
    );
    return 'error';
  }

  #expire(): void {
    this.#controlState.timeIsOver();
    void this.end('timeout');
  }

  async #finish(status: RunStatus): Promise<void> {
    this.#status = status;
    this.#timers.stop();
    this.#story.tell('run.ended', { status, totalSteps: this.stepIndex });
    this.#host.ended(this);
    await Promise.all([this.#reportEnd(status), this.#host.sink.drain(this.#host.settings.drainMs)]);
  }

  async #reportEnd(status: RunStatus): Promise<void> {
    const agentId = await this.#host.agentId();
    if (agentId !== undefined) await this.#host.server.endRun(this.id, agentId, status);
  }
}

function breakerRefuses(breaker: RunBreaker, question: DecisionQuestion): string | null {
  if (question.phase === 'tool.after') return null;
  if (question.phase === 'tool.before') return breaker.refuses({ by: question.callId });
  return breaker.refuses({ iterations: 1, ...question.estimate, by: question.callId });
}

function optionsOf(given: readonly string[] | ToolCallOptions): ToolCallOptions {
  return Array.isArray(given) ? { tags: given } : (given as ToolCallOptions);
}
