import type { OperatorOrders, OrderedState } from '../guard/operator-orders.ts';
import type { Settings } from '../options.ts';
import type { RuntimeClock } from '../runtime/runtime.ts';
import type { EventSink } from '../sink/event-sink.ts';
import { BYPASSES } from '../wire/bypasses.ts';
import type { BreakerLimits, BreakerState } from '../wire/contract.ts';
import type { Decision } from '../wire/decision.ts';
import type { ModelCallFacts, ModelResponseLike } from '../wire/model-response.ts';
import type { AgentMessage, Lockdown, RunStatus } from '../wire/model.ts';
import type { Server } from '../wire/server.ts';
import { type Decider, type DecisionQuestion, stopped } from './decider.ts';
import { ModelCalls } from './model-calls.ts';
import { RunBreaker } from './run-breaker.ts';
import type { ApprovalWait, LlmCallOptions, RunConfig, ToolCallOptions } from './run-config.ts';
import { RunControl } from './run-control.ts';
import { type RunEnding, statusOfEnding } from './run-endings.ts';
import { bypassData, startedData } from './run-events.ts';
import { RunQuestions } from './run-questions.ts';
import { RunStory } from './run-story.ts';
import { ToolCalls } from './tool-calls.ts';

/** The timers of one run: none of them keeps the process alive, and none is left when the run is over. */
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

/** What a run needs of its client. */
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
  /** Tells the programmer something, the first time only. */
  warnOnce(message: string): void;
  breakerLimits(): BreakerLimits | null;
  agentId(): Promise<string | undefined>;
  /** Resolves when a human may have decided something, or after `ms`. */
  nextApproval(ms: number): Promise<void>;
  ended(run: Run): void;
}

const ASYNC_DISPOSE: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');
/**
 * One execution of the agent: a request, a turn of a conversation, a job. Its hooks are called around model and tool
 * calls; none of them throws because the platform is away, and none waits longer than the deadline.
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
        ...{ runId: id, actor, tags: this.tags, enforceMode: settings.enforceMode },
        controlState: () => this.controlState,
        keyRefused: () => this.keyRefused(),
        breakerRefuses: (question) => breakerRefuses(breaker, question),
      },
      (decision, { toolName }) => {
        const { bypass, verdict } = decision;
        if (bypass === undefined) return;
        story.tell('decision.bypassed', bypassData(decision, bypass, toolName));
        const did = verdict === 'ALLOW' ? 'let through' : 'refused';
        host.warn(`a call was ${did} that nobody decided about: ${BYPASSES[bypass].happened}`);
      },
    );
    this.#questions = questions;
    const { signal } = this.#controlState;
    const nextApproval = (ms: number) => host.nextApproval(ms);
    this.#modelCalls = new ModelCalls({
      ...{ story, breaker, questions, newId, model: config.model },
      warnOnce: (message) => host.warnOnce(message),
    });
    this.#toolCalls = new ToolCalls({ settings, clock, story, breaker, questions, newId, signal, nextApproval });
    this.#begin();
  }

  /** Ms by the client's clock that only goes forward; for measuring calls. */
  elapsed(): number {
    return this.#host.clock.elapsed();
  }

  /** An id for a model or tool call of a framework that gives it none. */
  newCallId(): string {
    return this.#host.newId();
  }

  /** Tool calls that came to an end. */
  get stepIndex(): number {
    return this.#story.stepIndex;
  }

  get isEnded(): boolean {
    return this.#ending !== undefined;
  }

  get status(): RunStatus | 'running' {
    return this.#status ?? 'running';
  }

  /** Aborted when the run is killed or its time is over: hand it to model and tool calls to stop them in the middle. */
  get signal(): AbortSignal {
    return this.#controlState.signal;
  }

  /** Why no further call of it will be allowed: a rule ended it, it failed closed, or an operator killed it. */
  get stopped(): Decision | undefined {
    const controlState = this.controlState;
    if (controlState.state !== 'killed' || !this.#enforces) return this.#questions.stopped;
    const { id: callId } = controlState;
    return { ...stopped(controlState), phase: 'tool.before', callId, args: {} };
  }

  /** The model an operator wants used instead. */
  get modelOverride(): string | null {
    return this.#controlState.modelOverride;
  }

  get breakerState(): BreakerState {
    return this.#breaker.state;
  }

  /** What an operator, the server at the start, or the run's time to live want of it. */
  get controlState(): OrderedState {
    return this.#controlState.now;
  }

  /**
   * Before a model call, with the messages about to be sent. Records the new ones, answers all of them as they should
   * be sent, and throws AgentStopped where the call must not happen.
   */
  async beforeLlm<M extends AgentMessage>(messages: readonly M[], options: LlmCallOptions = {}): Promise<M[]> {
    return this.#modelCalls.before(messages, options);
  }

  /** After a model call, also when it failed (`error`). */
  async afterLlm(response: ModelResponseLike, about: ModelCallFacts = {}): Promise<void> {
    this.#modelCalls.after(response, about);
  }

  /** Before a tool runs. BLOCK: do not run it; with TERMINATE end the agent's loop too. Use `decision.args`. */
  async beforeTool(
    name: string,
    args: unknown,
    tagsOrOptions: readonly string[] | ToolCallOptions = {},
  ): Promise<Decision> {
    return this.#toolCalls.before(name, args, optionsOf(tagsOrOptions));
  }

  /** After a tool ran or threw. BLOCK: the result must not be used. */
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

  /** Asks about a waiting call until a human has decided, the run is stopped or the time is over. */
  async waitForApproval(name: string, pending: Decision, wait: ApprovalWait & ToolCallOptions = {}): Promise<Decision> {
    return this.#toolCalls.waitForApproval(name, pending, wait);
  }

  /** Adds a fact of the agent's own to the run's story. */
  record(kind: string, data: Readonly<Record<string, unknown>>): void {
    this.#breaker.told(kind, data);
    this.#story.tell(kind, data);
  }

  /** Ends the run and waits, within limits, until everything about it has been sent. Ending twice is ending once. */
  end(ending: RunEnding = 'success'): Promise<void> {
    this.#ending ??= this.#finish(this.#statusOf(ending));
    return this.#ending;
  }

  /** Remembered by `withRun` for a run that is ended by leaving its block. */
  noteFailure(): void {
    this.#failed = true;
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.end(this.#failed ? 'error' : 'success');
  }

  /** The server's answer to the start of this run, or to a sign of life. */
  lockDown(lockdown: Lockdown): void {
    this.#controlState.lockDown(lockdown);
  }

  /** The platform refuses the key: every call of the run is refused from now on. */
  keyRefused(): void {
    this.#controlState.keyRefused();
  }

  /** An order arrived that may be about this run. Who hears orders as they are given hears all of them. */
  ordersChanged(): void {
    this.#controlState.ordersChanged();
  }

  /** Closes the breaker of this run; for an operator's reset. */
  resetBreaker(): void {
    this.#breaker.reset();
  }

  #begin(): void {
    const { agent, heartbeatMs } = this.#host.settings;
    const { runTtlMs } = this.#config;
    this.#story.tell('run.started', startedData(this.#config, agent));
    if (runTtlMs !== undefined) this.#timers.after(runTtlMs, () => this.#expire());
    if (heartbeatMs > 0) this.#timers.every(heartbeatMs, () => void this.#signOfLife(heartbeatMs));
  }

  /** Tells that the run goes on, and hears what stands against it, for those who have no stream of orders. */
  async #signOfLife(everyMs: number): Promise<void> {
    const agentId = await this.#host.agentId();
    if (agentId === undefined) return;
    const asked = await this.#host.server.heartbeat(this.id, agentId, this.#host.instanceId, everyMs);
    if (this.isEnded) return;
    if (asked.ok) this.lockDown(asked.value);
    else if (asked.why === 'key_refused') this.keyRefused();
  }

  #statusOf(ending: RunEnding): RunStatus {
    const status = statusOfEnding(ending);
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
    await Promise.all([this.#tellEnd(status), this.#host.sink.drain(this.#host.settings.drainMs)]);
  }

  async #tellEnd(status: RunStatus): Promise<void> {
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
