import { DEFAULT_BREAKER_LIMITS } from '@agentlens/guardrails/breaker';
import { createRuntime } from '#runtime';
import { checkOptions } from './check-options.ts';
import { selectorRules } from './guard/applicable.ts';
import { ControlFeed, type FeedMode } from './guard/control-feed.ts';
import { OperatorOrders } from './guard/operator-orders.ts';
import { RuleCache } from './guard/rule-cache.ts';
import { type AgentLensOptions, type Settings, settingsOf } from './options.ts';
import { RegistrationAttempts } from './registration.ts';
import { Decider } from './run/decider.ts';
import { Run, type RunHost } from './run/run.ts';
import type { RunConfig } from './run/run-config.ts';
import { getCurrentRun } from './run/run-context.ts';
import type { Runtime } from './runtime/runtime.ts';
import { EventSink, type SinkStats } from './sink/event-sink.ts';
import type { BreakerLimits } from './wire/contract.ts';
import { isRecord } from './wire/decision.ts';
import { ApiKeyRefused, BYPASSES } from './wire/failures.ts';
import type { ToolInfo } from './wire/model.ts';
import { Server, type StartRequest } from './wire/server.ts';
import { type Connection, readConnection, signAcknowledgement } from './wire/sign-acknowledgement.ts';

const ASYNC_DISPOSE: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');
const START_RETRY_MS = 2_000;
const START_TRIES = 5;
const MAX_ACKNOWLEDGED_ORDERS = 1_000;
const MAX_ENDED_RUNS = 1_000;

/** State of this process's connection to the platform. */
export interface ClientStatus {
  readonly agentId: string | undefined;
  readonly control: FeedMode | 'off';
  /** Orders arrive as soon as they are given. */
  readonly connected: boolean;
  readonly rulesVersion: number | null;
  readonly events: SinkStats;
}

const { maxIterations, maxTokens, maxCostUsd, maxConsecutiveFailures } = DEFAULT_BREAKER_LIMITS;
const DEFAULT_BREAKER_NOTE =
  `unless the platform sets other limits, a run is stopped after ${maxIterations} model calls, ${maxTokens} tokens, ` +
  `${maxCostUsd} USD or ${maxConsecutiveFailures} failures in a row; change it with the option \`breaker\``;

/** One agent process's connection to the platform. Create it once with `AgentLens.init` and share it. */
export class AgentLensClient {
  readonly instanceId: string;
  readonly #settings: Settings;
  readonly #runtime: Runtime;
  readonly #server: Server;
  readonly #sink: EventSink;
  readonly #registration: RegistrationAttempts;
  readonly #orders = new OperatorOrders();
  readonly #rules: RuleCache;
  readonly #host: RunHost;
  readonly #runs = new Map<string, Run>();
  /** A decision may mention an order before the order itself arrives, when the run may already have ended. */
  readonly #ended = new Set<string>();
  readonly #approvalWaiters = new Set<() => void>();
  readonly #acknowledged = new Set<string>();
  #connection: Connection | undefined;
  readonly #warned = new Set<string>();
  #tools: readonly ToolInfo[];
  #feed: ControlFeed | undefined;
  #closing: Promise<void> | undefined;
  /** Cancels the exit handler. */
  readonly #cancelExitHandler: (() => void) | undefined;

  constructor(options: AgentLensOptions) {
    checkOptions(options);
    this.#runtime = { ...createRuntime(), ...options.runtime };
    this.#settings = settingsOf(options, this.#runtime.background);
    const { clock, http, random, newId } = this.#runtime;
    const { apiKey, baseUrl, deadlineMs, agent, logger } = this.#settings;
    const warn = (message: string) => logger.warn(`agentlens: ${message}`);
    this.instanceId = newId(clock.now());
    this.#tools = this.#settings.tools;
    this.#server = new Server({ baseUrl, apiKey, http, clock, deadlineMs });
    this.#registration = new RegistrationAttempts({
      ...{ clock, random, warn },
      register: () => this.#server.registerAgent(agent, this.#tools),
      registered: (agentId) => this.#connected(agentId),
    });
    this.#sink = new EventSink(this.#settings.sink, {
      ...{ clock, random, newId, warn },
      agentId: () => this.#registration.agentId,
      send: (body, batchId, timeoutMs) => this.#server.sendEvents(body, batchId, timeoutMs),
    });
    this.#rules = new RuleCache({
      ...{ clock, random, apiKey, warn },
      rules: this.#settings.rules ?? selectorRules,
      fetch: (agentId, heldTag) => this.#server.ruleBundle(agentId, heldTag),
    });
    this.#host = this.#runHost();
    if (this.#settings.isDefaultBreaker) logger.info?.(`agentlens: ${DEFAULT_BREAKER_NOTE}`);
    this.#cancelExitHandler = this.#runtime.atExit?.(() => this.#abandonEvents());
    void this.#registration.wait();
  }

  get status(): ClientStatus {
    return {
      agentId: this.#registration.agentId,
      control: this.#feed?.mode ?? 'off',
      connected: this.#feed?.connected ?? false,
      rulesVersion: this.#rules.version,
      events: this.#sink.stats,
    };
  }

  /** What a call gets when no decision could be made in time. */
  get failMode(): 'open' | 'closed' {
    return this.#settings.failMode;
  }

  /** Model set by an operator for the whole agent. */
  get modelOverride(): string | null {
    return this.#orders.modelOverride ?? null;
  }

  /** Returns true when the agent is registered; never waits longer than the deadline. @throws ApiKeyRefused */
  async ready(): Promise<boolean> {
    if ((await this.#registration.wait()) !== undefined) return true;
    const { why, status } = this.#registration.failure;
    if (why === 'key_refused' && status !== undefined) throw new ApiKeyRefused(status);
    return false;
  }

  /** Registers the agent's tools; rules can refer to their tags. */
  async registerTools(tools: readonly ToolInfo[]): Promise<boolean> {
    this.#tools = tools;
    const agentId = await this.#registration.wait();
    return agentId !== undefined && (await this.#server.registerTools(agentId, tools)).ok;
  }

  /**
   * Starts a run; inside `withRun`, as a child of the current run. Starting a live id again returns the same run. Never
   * throws because the platform is unavailable.
   */
  async startRun(given: RunConfig = {}): Promise<Run> {
    const { clock, newId } = this.#runtime;
    const runId = given.runId ?? newId(clock.now());
    const live = this.#runs.get(runId);
    if (live !== undefined) return live;
    const parentRunId = given.parentRunId ?? getCurrentRun()?.id;
    const config = parentRunId === undefined ? given : { ...given, parentRunId };
    const run = new Run(runId, config, this.#host);
    this.#runs.set(runId, run);
    await this.#reportStart(run, config, START_TRIES);
    return run;
  }

  /** Logs a warning for the developer through the client's logger; for adapters. */
  warn(message: string): void {
    this.#settings.logger.warn(`agentlens: ${message}`);
  }

  #warnOnce(message: string): void {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    this.warn(message);
  }

  /** Sends all waiting events. Returns whether all of them were delivered or dropped within `drainMs`. */
  drain(ms = this.#settings.drainMs): Promise<boolean> {
    return this.#sink.drain(ms);
  }

  /** Ends open runs as interrupted, sends waiting events and closes all connections. */
  shutdown(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.shutdown();
  }

  #abandonEvents(): void {
    const lost = this.#sink.abandon();
    if (lost > 0) this.warn(`${lost} events were lost because the process ended: await shutdown() or drain() first`);
  }

  #runHost(): RunHost {
    const { clock, newId } = this.#runtime;
    const decider = new Decider({
      settings: this.#settings,
      server: this.#server,
      clock,
      rules: this.#rules,
      agentId: () => this.#registration.wait(),
      unregistered: () => this.#registration.failure,
    });
    return {
      ...{ settings: this.#settings, clock, sink: this.#sink, server: this.#server, decider },
      instanceId: this.instanceId,
      orders: this.#orders,
      newId: () => newId(clock.now()),
      warn: (message) => this.warn(message),
      warnOnce: (message) => this.#warnOnce(message),
      breakerLimits: () => this.#breakerLimits(),
      agentId: () => this.#registration.wait(),
      nextApproval: (ms) => this.#nextApproval(ms),
      ended: (run) => this.#forget(run.id),
    };
  }

  #breakerLimits(): BreakerLimits | null {
    const { breaker, isDefaultBreaker } = this.#settings;
    if (breaker === null) return null;
    const { breakerLimits, defaultBreakerOff } = this.#rules;
    return breakerLimits ?? (isDefaultBreaker && defaultBreakerOff ? null : breaker);
  }

  #connected(agentId: string): void {
    this.#sink.flush();
    void this.#rules.refresh(agentId);
    const { control, deadlineMs, logger } = this.#settings;
    if (control === 'off' || this.#closing !== undefined) return;
    const { clock, random } = this.#runtime;
    this.#feed ??= new ControlFeed(agentId, this.instanceId, control, {
      ...{ clock, random, deadlineMs, server: this.#server },
      warn: (message) => logger.warn(`agentlens: ${message}`),
      keyRefused: () => this.#keyRefused(),
      receive: (event, message) => this.#receive(agentId, event, message),
    });
  }

  async #reportStart(run: Run, config: RunConfig, triesLeft: number): Promise<void> {
    const agentId = await this.#registration.wait();
    const asked =
      agentId === undefined
        ? this.#registration.failure
        : await this.#server.startRun(run.id, startRequest(config, agentId, this.#settings.heartbeatMs));
    if (asked.ok) run.lockDown(asked.value);
    else if (asked.why === 'key_refused') run.keyRefused();
    else if (asked.why !== 'refused' && triesLeft > 1) this.#reportStartLater(run, config, triesLeft - 1);
  }

  /** Reports a run's start to a server that was unavailable at the time. The run does not wait for it. */
  #reportStartLater(run: Run, config: RunConfig, triesLeft: number): void {
    this.#runtime.clock.timer(() => {
      if (!run.isEnded) void this.#reportStart(run, config, triesLeft);
    }, START_RETRY_MS);
  }

  #receive(agentId: string, event: string, message: unknown): void {
    if (event === 'rules') this.#rules.changed(agentId);
    if (event === 'connection') this.#connection = readConnection(message);
    // Every waiting approval asks again at once, regardless of which one was decided.
    if (isRecord(message) && (message.kind === 'approval' || 'approvalId' in message)) this.#wakeApprovals();
    const orderId = this.#orders.take(message, agentId);
    if (orderId === null || !isRecord(message)) return;
    for (const run of this.#runs.values()) run.ordersChanged();
    if (message.scope !== 'run' || this.#hasRun(String(message.scopeId)))
      this.#acknowledge(orderId, agentId, message.version);
    this.#wakeApprovals();
  }

  #keyRefused(): void {
    for (const run of this.#runs.values()) run.keyRefused();
    this.#wakeApprovals();
  }

  /** Whether this process has or had the run. */
  #hasRun(runId: string): boolean {
    return this.#runs.has(runId) || this.#ended.has(runId);
  }

  #forget(runId: string): void {
    this.#runs.delete(runId);
    const [oldest] = this.#ended;
    if (oldest !== undefined && this.#ended.size >= MAX_ENDED_RUNS) this.#ended.delete(oldest);
    this.#ended.add(runId);
  }

  /** Once per order and process: the operator sees how many processes received it. */
  #acknowledge(orderId: string, agentId: string, version: unknown): void {
    if (this.#acknowledged.has(orderId)) return;
    if (this.#acknowledged.size >= MAX_ACKNOWLEDGED_ORDERS) this.#acknowledged.clear();
    this.#acknowledged.add(orderId);
    void this.#sendAcknowledgement(orderId, agentId, version);
  }

  async #sendAcknowledgement(directiveId: string, agentId: string, version: unknown): Promise<void> {
    const { instanceId } = this;
    const connection = typeof version === 'number' ? this.#connection : undefined;
    const order = { directiveId, agentId, instanceId, version: Number(version) };
    const signature = connection && (await signAcknowledgement(connection, order));
    await this.#server.acknowledge(directiveId, agentId, instanceId, signature);
  }

  #nextApproval(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        this.#approvalWaiters.delete(done);
        resolve();
      };
      const cancel = this.#runtime.clock.timer(done, ms, true);
      this.#approvalWaiters.add(done);
    });
  }

  #wakeApprovals(): void {
    for (const wake of this.#approvalWaiters) wake();
  }

  async #close(): Promise<void> {
    this.#feed?.close();
    this.#rules.close();
    await Promise.all([...this.#runs.values()].map((run) => run.end('interrupted')));
    await this.#sink.drain(this.#settings.drainMs);
    this.#cancelExitHandler?.();
    this.#registration.close();
    const lost = this.#sink.abandon();
    if (lost > 0) {
      const why = this.#registration.failure.why;
      const because = this.#registration.agentId === undefined ? `: ${BYPASSES[why].happened}` : '';
      this.warn(`${lost} events were lost: they were not delivered within ${this.#settings.drainMs} ms${because}`);
    }
    this.#wakeApprovals();
    await this.#runtime.http.close();
  }
}

function startRequest(config: RunConfig, agentId: string, heartbeatMs: number): StartRequest {
  const { sessionId, actor, model, tags, parentRunId, parentToolUseId, runTtlMs } = config;
  const heartbeatEveryMs = heartbeatMs > 0 ? heartbeatMs : undefined;
  return { agentId, sessionId, actor, model, tags, parentRunId, parentToolUseId, runTtlMs, heartbeatEveryMs };
}

export const AgentLens = {
  /**
   * Connects this process to the platform as one agent. Resolves when the agent is registered or the deadline has
   * passed; if the platform is unavailable, registration continues in the background.
   *
   * @throws TypeError for invalid options
   * @throws ApiKeyRefused if the platform rejects the key
   */
  async init(options: AgentLensOptions): Promise<AgentLensClient> {
    const client = new AgentLensClient(options);
    try {
      await client.ready();
    } catch (error) {
      await client.shutdown();
      throw error;
    }
    return client;
  },
};
