import { AgentContext } from '../core/agent-context.ts';
import { AgentError, errorInfo, isAgentError, messageOf } from '../core/agent-error.ts';
import type { AgentEvent, DriverEvent } from '../core/agent-event.ts';
import {
  type Activity,
  type AgentState,
  activityOf,
  IDLE,
  type StateEvent,
  stateOf,
  transition,
} from '../core/agent-state.ts';
import type { InputMessage, OutputChunk, PermissionAnswer } from '../core/input-output.ts';
import { addTokens, NO_TOKENS, type TokenUsage } from '../core/token-usage.ts';
import type { Effects } from '../effects/effects.ts';
import type { Host } from '../host/host.ts';
import type { PermissionManager } from '../permissions/permission-manager.ts';
import { type GuardedRun, type RunEnd, type RunGuard, storyFact } from '../platform/run-guard.ts';
import type { AgentSession } from '../session/agent-session.ts';
import { turnsOf } from '../session/reopen.ts';
import type { RuntimeLogger } from './agent-runtime.ts';
import type { RunLimits, RuntimeLimits } from './capacity.ts';
import { EventLog } from './event-log.ts';

interface OpenRequest {
  readonly inputHash: string;
  readonly answer: (answer: PermissionAnswer) => void;
}

/** Requests that wait for a human. Each accepts one answer, and only one about the input that was shown. */
class OpenRequests {
  readonly #open = new Map<string, OpenRequest>();

  has(requestId: string): boolean {
    return this.#open.has(requestId);
  }

  /** Rejects with the signal's reason. */
  wait(requestId: string, inputHash: string, signal: AbortSignal): Promise<PermissionAnswer> {
    return new Promise((resolve, reject) => {
      const done = () => {
        this.#open.delete(requestId);
        signal.removeEventListener('abort', aborted);
      };
      const aborted = () => {
        done();
        reject(signal.reason);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener('abort', aborted, { once: true });
      const answer = (given: PermissionAnswer) => {
        done();
        resolve(given);
      };
      this.#open.set(requestId, { inputHash, answer });
    });
  }

  /** @throws AgentError `stale_answer` */
  answer(answer: PermissionAnswer): void {
    const request = this.#open.get(answer.requestId);
    if (request === undefined) throw new AgentError('stale_answer', 'no request is waiting for this answer');
    if (answer.inputHash !== undefined && answer.inputHash !== request.inputHash)
      throw new AgentError('stale_answer', 'the answer is about a different input than the one shown');
    request.answer(answer);
  }
}

interface Waiter {
  readonly accepts: (message: InputMessage) => boolean;
  readonly resolve: (message: InputMessage) => void;
}

/** Input queue of an agent. A receiver takes the first message it accepts; the others keep their places. */
export class Inbox {
  readonly #capacity: number;
  readonly #messages: InputMessage[] = [];
  readonly #waiters: Waiter[] = [];
  #ended: InputMessage | null = null;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** @throws AgentError `capacity` if the queue is full */
  put(message: InputMessage): void {
    const at = this.#waiters.findIndex(({ accepts }) => accepts(message));
    const [waiter] = at === -1 ? [] : this.#waiters.splice(at, 1);
    if (waiter !== undefined) waiter.resolve(message);
    // An interrupt is accepted even if the queue is full.
    else if (this.#messages.length >= this.#capacity && message.type !== 'interrupt')
      throw new AgentError('capacity', 'the input queue of the agent is full');
    else this.#messages.push(message);
  }

  /** The first waiting message that matches, if any. */
  take(accepts: (message: InputMessage) => boolean): InputMessage | undefined {
    const at = this.#messages.findIndex(accepts);
    return at === -1 ? undefined : this.#messages.splice(at, 1)[0];
  }

  /** After `end` every receiver gets the last message. */
  receive(accepts: (message: InputMessage) => boolean = () => true): Promise<InputMessage> {
    if (this.#ended !== null) return Promise.resolve(this.#ended);
    const waiting = this.take(accepts);
    if (waiting !== undefined) return Promise.resolve(waiting);
    return new Promise((resolve) => this.#waiters.push({ accepts, resolve }));
  }

  end(last: InputMessage): void {
    this.#ended = last;
    for (const { resolve } of this.#waiters.splice(0)) resolve(last);
  }
}

interface LiveSessionOptions {
  readonly session: AgentSession;
  readonly guard: RunGuard;
  readonly effects: Effects;
  readonly host: Host;
  readonly limits: RuntimeLimits;
  readonly logger: RuntimeLogger;
  readonly runLimits: Partial<RunLimits>;
  readonly runId?: string;
  readonly parent: LiveSession | null;
  readonly askTimeoutMs: number;
}

type MadeEvent = OutputChunk | DriverEvent;

/** A running session: its log, input, state and run. Handle and internals are two views of it. */
export class LiveSession {
  readonly session: AgentSession;
  readonly log: EventLog;
  readonly inbox: Inbox;
  readonly requests = new OpenRequests();
  readonly children = new Set<LiveSession>();
  readonly options: LiveSessionOptions;
  readonly shutdownController = new AbortController();
  readonly context: AgentContext;
  /** The permissions of its tools, which also apply to its children. */
  permissions: PermissionManager | null = null;
  usage: TokenUsage = NO_TOKENS;
  readonly unpriced = new Set<string>();
  #turnController = new AbortController();
  readonly #observers = new Set<(event: AgentEvent) => void>();
  #activity: Activity = IDLE;
  #run: GuardedRun | null = null;
  #turn: number;

  constructor(options: LiveSessionOptions) {
    this.options = options;
    this.session = options.session;
    this.log = new EventLog(options.limits.events);
    this.inbox = new Inbox(options.limits.inbox);
    this.#turn = turnsOf(options.session);
    const { sessionId, agentType, parentSessionId, parentToolUseId, metadata } = options.session;
    this.context = new AgentContext({
      ...{ sessionId, agentType, parentSessionId, parentToolUseId, metadata },
      ...{ host: options.host, effects: options.effects, signal: this.shutdownController.signal },
      progress: (toolUseId, output) => this.emit({ type: 'tool-progress', toolUseId, output }),
    });
  }

  get depth(): number {
    return this.options.parent === null ? 0 : this.options.parent.depth + 1;
  }

  get state(): AgentState {
    return stateOf(this.#activity);
  }

  get turn(): number {
    return this.#turn;
  }

  get turnSignal(): AbortSignal {
    return this.#turnController.signal;
  }

  get run(): GuardedRun | null {
    return this.#run;
  }

  emit(made: MadeEvent): void {
    const { effects } = this.options;
    const { sessionId } = this.session;
    const runId = this.#run?.id ?? null;
    const event = this.log.append((seq): AgentEvent => {
      return { seq, id: `${sessionId}:${seq}`, at: effects.now(), sessionId, runId, turn: this.#turn, ...made };
    });
    const fact = storyFact(made);
    if (fact !== null) this.#run?.record(fact.kind, fact.data);
    for (const observer of this.#observers) observer(event);
  }

  /** Calls `observer` synchronously with each event; it must not throw. */
  observe(observer: (event: AgentEvent) => void): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /** Advances the state machine. An illegal transition is only a warning: a wrong state must not stop an agent. */
  move(event: StateEvent): void {
    try {
      this.#change(transition(this.#activity, event));
    } catch (error) {
      if (!isAgentError(error, 'illegal_transition')) throw error;
      this.emit({ type: 'warning', message: error.message });
    }
  }

  /** For a hand-written loop. @throws AgentError `illegal_transition` for a session that has ended */
  setState(state: AgentState): void {
    const { phase } = this.#activity;
    if (phase === 'done' || phase === 'error')
      throw new AgentError('illegal_transition', `an agent that is ${phase} stays so`);
    this.#change(activityOf(state));
  }

  /** Begins a turn after input was taken. One turn is one run. */
  async beginTurn(): Promise<void> {
    if (this.#run !== null) return;
    this.#turnController = new AbortController();
    this.#turn += 1;
    this.session.journal({ type: 'turn-started', turn: this.#turn });
    const { guard, runLimits, runId, parent } = this.options;
    const { sessionId, agentType, model, parentToolUseId } = this.session;
    this.#run = await guard.begin({
      ...{ sessionId, agentType, model, limits: runLimits },
      ...(runId === undefined || this.#turn > 1 ? {} : { runId }),
      ...(parent?.run == null ? {} : { parentRunId: parent.run.id }),
      ...(parentToolUseId === null ? {} : { parentToolUseId }),
    });
    if (this.state.kind === 'idle') this.move({ type: 'input' });
  }

  /** Ends the turn: stores and reports it. */
  async endTurn(status: RunEnd): Promise<void> {
    const run = this.#run;
    if (run === null) return;
    this.session.journal({ type: 'turn-ended', turn: this.#turn });
    await this.session.save();
    await run.end(status);
    this.#run = null;
  }

  put(message: InputMessage): void {
    const { kind } = this.state;
    if (kind === 'done' || kind === 'error')
      throw new AgentError('run_ended', `the agent is ${kind}: resume its session`);
    this.inbox.put(message);
  }

  isAsking(requestId: string): boolean {
    return [this, ...this.descendants()].some(({ requests }) => requests.has(requestId));
  }

  /** @throws AgentError `stale_answer` */
  respond(answer: PermissionAnswer): void {
    const waiting = [this, ...this.descendants()].find(({ requests }) => requests.has(answer.requestId));
    (waiting ?? this).requests.answer(answer);
  }

  *descendants(): Generator<LiveSession> {
    for (const child of this.children) {
      yield child;
      yield* child.descendants();
    }
  }

  /** Stops the turn at any point. */
  interrupt(reason = new AgentError('interrupted', 'the turn was interrupted')): void {
    for (const child of this.children) child.interrupt(reason);
    if (this.#run === null || this.turnSignal.aborted) return;
    this.#turnController.abort(reason);
    this.inbox.put({ type: 'interrupt' });
  }

  /** Ends the session: stops the turn and notifies the loop. */
  stop(): void {
    if (this.shutdownController.signal.aborted) return;
    for (const child of this.children) child.stop();
    const reason = new AgentError('aborted', 'the session was shut down');
    this.shutdownController.abort(reason);
    this.#turnController.abort(reason);
    this.inbox.end({ type: 'shutdown' });
  }

  addUsage(usage: TokenUsage): void {
    this.usage = addTokens(this.usage, usage);
  }

  /** Called when the loop has returned or thrown. */
  async finish(error: unknown): Promise<void> {
    const stopped = this.shutdownController.signal.aborted;
    const failed = error !== undefined && !stopped;
    for (const child of this.children) child.stop();
    if (failed) {
      const info = errorInfo(error);
      this.emit({ type: 'error', error: info });
      this.move({ type: 'failed', error: info });
    }
    try {
      await this.endTurn(failed ? 'error' : stopped ? 'interrupted' : 'success');
      await this.session.save();
    } catch (saving) {
      this.options.logger.warn(`saving session ${this.session.sessionId} failed: ${messageOf(saving)}`);
      this.emit({ type: 'error', error: errorInfo(saving) });
      if (!failed) this.move({ type: 'failed', error: errorInfo(saving) });
    }
    if (this.#activity.phase === 'idle' || this.#activity.phase === 'busy') this.move({ type: 'shutdown' });
    this.inbox.end({ type: 'shutdown' });
    this.log.close();
    this.options.parent?.children.delete(this);
  }

  #change(next: Activity): void {
    const before = this.state;
    this.#activity = next;
    const after = this.state;
    if (JSON.stringify(before) !== JSON.stringify(after)) this.emit({ type: 'state-change', state: after });
  }
}
