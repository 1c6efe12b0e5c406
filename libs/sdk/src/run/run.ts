import type { BreakerLimits } from '@agentlens/contracts';
import type { Standing, Standings } from '../guard/standing.ts';
import type { Settings } from '../options.ts';
import type { Clock } from '../runtime/runtime.ts';
import type { RunRef } from '../sink/audit-event.ts';
import type { EventSink } from '../sink/event-sink.ts';
import type { Decision } from '../wire/decision.ts';
import type { AgentMessage, LlmResponse, Lockdown, RunStatus } from '../wire/model.ts';
import { safeJson, utf8Bytes } from '../wire/safe-json.ts';
import type { Server } from '../wire/server.ts';
import { AgentStopped } from './agent-stopped.ts';
import type { Decider, Question, Subjectivity } from './decider.ts';
import { MessageLog } from './message-log.ts';
import { OpenCalls } from './open-calls.ts';
import { RunBreaker } from './run-breaker.ts';
import type { ApprovalWait, LlmCallOptions, RunConfig, ToolCallOptions } from './run-config.ts';
import { answerMessage, decisionData, errorData, llmData, messageData, startedData } from './run-events.ts';
import { RunTimers } from './run-timers.ts';

/** What a run needs of its client. */
export interface RunHost {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly sink: EventSink;
  readonly server: Pick<Server, 'endRun' | 'heartbeat'>;
  readonly instanceId: string;
  readonly decider: Decider;
  readonly standings: Standings;
  newId(): string;
  breakerLimits(): BreakerLimits | null;
  agentId(): Promise<string | undefined>;
  /** Resolves when a human may have decided something, or after `ms`. */
  nextApproval(ms: number): Promise<void>;
  ended(run: Run): void;
}

const ASYNC_DISPOSE: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');
/** Under which open model calls are kept; no tool has an empty name. */
const MODEL_CALL = '';
const APPROVAL_TIMEOUT_MS = 15 * 60_000;
const APPROVAL_POLL_MS = 2_000;

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
  readonly #ref: RunRef;
  readonly #subjectivity: Subjectivity;
  readonly #breaker: RunBreaker;
  readonly #messages = new MessageLog();
  readonly #calls = new OpenCalls();
  readonly #reservations = new Map<string, string>();
  readonly #stop = new AbortController();
  readonly #timers: RunTimers;
  #stepIndex = 0;
  #tokensIn = 0;
  #tokensOut = 0;
  #lockdown: Lockdown = { active: false };
  #timedOut = false;
  #failed = false;
  #status: RunStatus | undefined;
  #ending: Promise<void> | undefined;

  constructor(id: string, config: RunConfig, host: RunHost) {
    this.id = id;
    this.sessionId = config.sessionId;
    this.tags = config.tags ?? {};
    this.#config = config;
    this.#host = host;
    this.#timers = new RunTimers(host.clock);
    this.#ref = {
      runId: id,
      sessionId: config.sessionId,
      actorExternalId: config.actor?.externalId,
      parentRunId: config.parentRunId,
      parentToolUseId: config.parentToolUseId,
    };
    this.#breaker = new RunBreaker(
      () => host.breakerLimits(),
      () => host.clock.now(),
      (reason) => this.#emit('breaker.tripped', { reason, scope: 'run' }),
    );
    this.#subjectivity = {
      runId: id,
      actor: config.actor,
      tags: this.tags,
      standing: () => this.standing,
      breakerRefuses: (question) => this.#breakerRefuses(question),
    };
    this.#begin();
  }

  /** Ms by the client's clock that only goes forward; for measuring calls. */
  elapsed(): number {
    return this.#host.clock.elapsed();
  }

  /** Tool calls that came to an end. */
  get stepIndex(): number {
    return this.#stepIndex;
  }

  get isEnded(): boolean {
    return this.#ending !== undefined;
  }

  get status(): RunStatus | 'running' {
    return this.#status ?? 'running';
  }

  /** Aborted when the run is killed or its time is over: hand it to model and tool calls to stop them in the middle. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The model an operator wants used instead. */
  get modelOverride(): string | null {
    const heard = this.#host.standings.modelOverride;
    return heard === undefined ? (this.#lockdown.modelOverride ?? null) : heard;
  }

  get breakerState(): RunBreaker['state'] {
    return this.#breaker.state;
  }

  /** What an operator, the server at the start, or the run's time to live want of it. */
  get standing(): Standing {
    if (this.#timedOut) return { state: 'killed', id: 'ttl', reason: 'its time is over' };
    const { active, reason = '', until, kind: state = 'paused', lockdownId: id = 'lockdown' } = this.#lockdown;
    const locked = active && (until === undefined || until > this.#host.clock.now());
    const standing = this.#host.standings.of(this.id);
    return locked && standing.state !== 'killed' ? { state, id, reason } : standing;
  }

  /**
   * Before a model call, with the messages about to be sent. Records the new ones, answers all of them as they should
   * be sent, and throws AgentStopped where the call must not happen.
   */
  async beforeLlm<M extends AgentMessage>(messages: readonly M[], options: LlmCallOptions = {}): Promise<M[]> {
    const cleaned = messages.map((message) => this.#redacted(message));
    for (const index of this.#messages.newOnes(messages, options.history)) {
      const message = cleaned[index];
      if (message !== undefined) this.#emitMessage(message);
    }
    const { estimate, callId = this.#host.newId() } = options;
    const decision = await this.#ask(
      { phase: 'llm.before', callId, toolName: '', toolTags: [], args: {}, oversized: false, estimate },
      {},
    );
    if (decision.verdict === 'ALLOW') this.#calls.begin(MODEL_CALL, callId);
    if (decision.reservationId !== undefined) this.#reservations.set(callId, decision.reservationId);
    if (decision.verdict === 'ALLOW' && decision.shadowed?.verdict !== 'BLOCK') return cleaned;
    this.#emit('llm.decision', decisionData(decision, { name: '', tags: [] }, 0));
    if (decision.verdict === 'BLOCK') throw new AgentStopped(decision);
    return cleaned;
  }

  /** After a model call, also when it failed (`error`). */
  async afterLlm(response: LlmResponse): Promise<void> {
    const callId = this.#calls.finish(MODEL_CALL, response.callId) ?? this.#host.newId();
    this.#tokensIn += response.usage?.inputTokens ?? 0;
    this.#tokensOut += response.usage?.outputTokens ?? 0;
    this.#breaker.modelAnswered(response, callId);
    this.#emit('llm.result', llmData(response, callId, this.#reservations.get(callId)) as Record<string, unknown>);
    this.#reservations.delete(callId);
    if (response.error !== undefined && response.content.length === 0) return;
    this.#messages.remember({ role: 'assistant', content: rememberedContent(response) });
    this.#emitMessage(this.#redacted(answerMessage(response)));
  }

  /** Before a tool runs. BLOCK: do not run it; with TERMINATE end the agent's loop too. Use `decision.args`. */
  async beforeTool(
    name: string,
    args: unknown,
    tagsOrOptions: readonly string[] | ToolCallOptions = {},
  ): Promise<Decision> {
    const options = optionsOf(tagsOrOptions);
    const { settings, clock } = this.#host;
    const json = settings.enforceMode === 'off' ? '' : safeJson(args);
    const waiting = this.#calls.waiting(name, json);
    const callId = options.callId ?? waiting ?? this.#host.newId();
    const startedAt = clock.elapsed();
    const oversized = json.length > settings.maxArgumentChars;
    const decision = await this.#ask(
      {
        phase: 'tool.before',
        ...{ callId, args, toolName: name, toolTags: options.tags ?? [], subjects: options.subjects, oversized },
      },
      { bytes_in: utf8Bytes(json), ...options.metrics },
    );
    const pending = decision.cause.kind === 'HITL_PENDING';
    this.#calls.setWaiting(name, json, pending ? callId : null);
    if (decision.verdict === 'ALLOW') this.#calls.begin(name, callId);
    // A human takes minutes: the question is one fact, however often it is asked.
    if (settings.enforceMode !== 'off' && !(pending && waiting === callId)) {
      const tool = { name, tags: options.tags ?? [] };
      this.#emit('tool.decision', decisionData(decision, tool, clock.elapsed() - startedAt));
    }
    return decision;
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
    const options = optionsOf(tagsOrOptions);
    const { settings } = this.#host;
    const failed = error !== undefined;
    const callId = this.#calls.finish(name, options.callId) ?? this.#host.newId();
    const tags = options.tags ?? [];
    this.#breaker.toolEnded(callId, failed);
    this.#emit('tool.result', {
      tool: { name, ...(tags.length === 0 ? {} : { categories: tags }) },
      outcome: failed ? 'error' : 'success',
      ...{ durationMs, callId },
      ...(failed ? { error: errorData(error) } : {}),
    });
    this.#stepIndex++;
    const [argsJson, resultJson] = settings.enforceMode === 'off' ? ['', ''] : [safeJson(args), safeJson(result)];
    const tooLarge = resultJson.length > settings.maxArgumentChars;
    return this.#host.decider.decide(this.#subjectivity, {
      phase: 'tool.after',
      ...{ callId, args, toolName: name, toolTags: tags, subjects: options.subjects },
      result: tooLarge ? { truncated: true, chars: resultJson.length } : result,
      metrics: {
        bytes_in: utf8Bytes(argsJson),
        bytes_out: utf8Bytes(resultJson),
        ...(durationMs === undefined ? {} : { duration_ms: durationMs }),
        ...options.metrics,
      },
      oversized: argsJson.length > settings.maxArgumentChars,
    });
  }

  /** Asks about a waiting call until a human has decided, the run is stopped or the time is over. */
  async waitForApproval(name: string, pending: Decision, wait: ApprovalWait & ToolCallOptions = {}): Promise<Decision> {
    const { clock } = this.#host;
    const until = clock.elapsed() + (wait.timeoutMs ?? APPROVAL_TIMEOUT_MS);
    let decision = pending;
    while (decision.cause.kind === 'HITL_PENDING') {
      const left = until - clock.elapsed();
      if (left <= 0 || this.signal.aborted) return decision;
      await this.#host.nextApproval(Math.min(left, wait.pollMs ?? APPROVAL_POLL_MS));
      decision = await this.beforeTool(name, pending.args, { ...wait, callId: pending.callId });
    }
    return decision;
  }

  /** Adds a fact of the agent's own to the run's story. */
  record(kind: string, data: Readonly<Record<string, unknown>>): void {
    this.#emit(kind, data);
  }

  /** Ends the run and waits, within limits, until everything about it has been sent. Ending twice is ending once. */
  end(status: RunStatus = 'success'): Promise<void> {
    this.#ending ??= this.#finish(status);
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
    this.#lockdown = lockdown;
    this.#obey();
  }

  /** An order arrived that may be about this run. Who hears orders as they are given hears all of them. */
  ordersChanged(): void {
    this.#lockdown = { active: false };
    this.#obey();
  }

  #obey(): void {
    if (this.standing.state === 'killed' && this.#host.settings.enforceMode === 'enforce')
      this.#stop.abort(new Error('the run was stopped'));
  }

  /** Closes the breaker of this run; for an operator's reset. */
  resetBreaker(): void {
    this.#breaker.reset();
  }

  #begin(): void {
    const { agent, heartbeatMs } = this.#host.settings;
    const { runTtlMs } = this.#config;
    this.#emit('run.started', startedData(this.#config, agent));
    if (runTtlMs !== undefined) this.#timers.after(runTtlMs, () => this.#expire());
    if (heartbeatMs > 0) this.#timers.every(heartbeatMs, () => void this.#signOfLife(heartbeatMs));
  }

  /** Tells that the run goes on, and hears what stands against it, for those who have no stream of orders. */
  async #signOfLife(everyMs: number): Promise<void> {
    const agentId = await this.#host.agentId();
    if (agentId === undefined) return;
    const asked = await this.#host.server.heartbeat(this.id, agentId, this.#host.instanceId, everyMs);
    if (asked.ok && !this.isEnded) this.lockDown(asked.value);
  }

  #expire(): void {
    this.#timedOut = true;
    if (this.#host.settings.enforceMode === 'enforce') this.#stop.abort(new Error('the time of the run is over'));
    void this.end('timeout');
  }

  async #finish(status: RunStatus): Promise<void> {
    this.#status = status;
    this.#timers.stop();
    this.#emit('run.ended', { status, totalSteps: this.#stepIndex });
    this.#host.ended(this);
    await Promise.all([this.#tellEnd(status), this.#host.sink.drain(this.#host.settings.drainMs)]);
  }

  async #tellEnd(status: RunStatus): Promise<void> {
    const agentId = await this.#host.agentId();
    if (agentId !== undefined) await this.#host.server.endRun(this.id, agentId, status);
  }

  #breakerRefuses(question: Question): string | null {
    if (question.phase === 'tool.after') return null;
    if (question.phase === 'tool.before') return this.#breaker.refuses({ by: question.callId });
    return this.#breaker.refuses({ iterations: 1, ...question.estimate, by: question.callId });
  }

  /** Tells the tokens used since the server last heard of any: an answer it gave is proof that it heard. */
  async #ask(question: Question, metrics: Readonly<Record<string, number>>): Promise<Decision> {
    const [tokensIn, tokensOut] = [this.#tokensIn, this.#tokensOut];
    const decision = await this.#host.decider.decide(this.#subjectivity, {
      ...question,
      metrics: { llm_tokens_in: tokensIn, llm_tokens_out: tokensOut, ...metrics },
    });
    if (decision.source === 'remote') {
      this.#tokensIn -= tokensIn;
      this.#tokensOut -= tokensOut;
    }
    return decision;
  }

  #redacted<M extends AgentMessage>(message: M): M {
    const { redactMessage } = this.#host.settings;
    if (redactMessage === null) return message;
    try {
      return { ...message, ...redactMessage(message) };
    } catch {
      // What could not be cleaned must not be sent as it is.
      return { ...message, content: '[not sent: its redaction failed]' };
    }
  }

  #emitMessage(message: AgentMessage): void {
    const data = messageData(this.#host.newId(), message, this.#host.settings.recordContent);
    this.#emit('message.raw.created', data);
  }

  #emit(kind: string, data: Readonly<Record<string, unknown>>): void {
    const { sink, clock } = this.#host;
    const stepIndex = kind === 'run.started' || kind === 'run.ended' ? undefined : this.#stepIndex;
    sink.add({ id: this.#host.newId(), at: clock.now(), kind, run: this.#ref, stepIndex, data });
  }
}

function optionsOf(given: readonly string[] | ToolCallOptions): ToolCallOptions {
  return Array.isArray(given) ? { tags: given } : (given as ToolCallOptions);
}

function rememberedContent(response: LlmResponse): unknown {
  return response.content.length > 0 ? response.content : (response.outputText ?? '');
}
