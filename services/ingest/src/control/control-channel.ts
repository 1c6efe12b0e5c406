import { type Alert, alertChanged, type RulesChanged, rulesChanged } from '@agentlens/contracts';
import type { GatewayMetrics, KnownRuns } from '@agentlens/decisions';
import type { EventBus, Subscription } from '@agentlens/messaging';
import {
  type Clock,
  type ControlBoard,
  type ControlItem,
  type ControlPosition,
  type HealthRegistry,
  type KeyDirectory,
  type Platform,
} from '@agentlens/platform';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ConnectionSecret, ConnectionSecrets } from './connection-secrets.ts';
import { backlog, type ControlFrame } from './control-frames.ts';
import { ControlStream } from './control-stream.ts';
import type { Listener, Listeners } from './listeners.ts';
import { ListeningPlaces } from './listening-places.ts';

interface ControlChannelDependencies {
  readonly bus: EventBus;
  readonly board: ControlBoard;
  readonly listeners: Listeners;
  readonly runs: Pick<KnownRuns, 'concernsAgents'>;
  readonly keys: KeyDirectory;
  readonly secrets: ConnectionSecrets;
  readonly clock: Clock;
  readonly health: HealthRegistry;
  readonly metrics: Pick<GatewayMetrics, 'dropped'>;
  readonly logger: Platform['logger'];
}

type ListeningClient = Omit<Listener, 'instanceId'> & {
  readonly instanceId: string | undefined;
  readonly keyId: string;
  /** The agents that its key is bound to. */
  readonly agents?: readonly string[] | undefined;
};

/** Manages the clients that listen to this instance, by stream or by long poll. */
export class ControlChannel implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #parts: ControlChannelDependencies;
  readonly #places = new ListeningPlaces();
  readonly #streams = new Set<ControlStream>();
  readonly #waiting = new Set<() => void>();
  #watches: Subscription[] = [];

  constructor(parts: ControlChannelDependencies) {
    this.#parts = parts;
    // A waiting poll would keep the server open.
    parts.health.onDrain(() => this.#wakeAll());
  }

  /**
   * Forwards decided approvals and new rules at once to the clients concerned. Without this, a client learns about them
   * when it asks again.
   */
  async onApplicationBootstrap(): Promise<void> {
    const { bus, logger } = this.#parts;
    try {
      this.#watches.push(
        await bus.watch(alertChanged, { from: 'new' }, ({ value }) => this.#sendApproval(value)),
        await bus.watch(rulesChanged, { from: 'new' }, ({ value }) => this.#sendRules(value)),
      );
    } catch (error) {
      logger.warn(
        { err: error },
        'message bus unavailable; approvals and rule changes reach agents at their next poll',
      );
    }
  }

  async beforeApplicationShutdown(): Promise<void> {
    for (const stream of [...this.#streams]) stream.close('The server is going down; reconnect');
    this.#wakeAll();
    await Promise.all(this.#watches.map((watch) => watch.close()));
  }

  open(listener: ListeningClient, after: ControlPosition | undefined, key: string, reply: FastifyReply): void {
    let stream: ControlStream | undefined;
    const leave = this.#places.take(listener, () => stream?.close('Other agents need the place; reconnect'));
    reply.hijack();
    const { board, listeners, keys, clock, metrics } = this.#parts;
    const onEnd = (ended: ControlStream) => {
      leave();
      this.#streams.delete(ended);
      this.#left(ended);
    };
    const onCut = () => metrics.dropped('control_stream', 1);
    const options = {
      listener: { ...listener, mayReceive: this.#mayReceive(listener) },
      after,
      connection: this.#secretFor(listener),
      board,
      listeners,
      key,
      keys,
      clock,
      onEnd,
      onCut,
    };
    stream = new ControlStream(options);
    this.#streams.add(stream);
    stream.start(reply.raw);
  }

  /** Answers at once if there is news, or if the client has no position yet. */
  async poll(
    listener: ListeningClient,
    after: ControlPosition | undefined,
    waitMs: number,
    gone: AbortSignal,
  ): Promise<{ readonly items: readonly ControlFrame[]; readonly next: string; connection?: ConnectionSecret }> {
    const { board, listeners } = this.#parts;
    const { instanceId } = listener;
    if (instanceId !== undefined) listeners.touch({ ...listener, instanceId });
    const mayReceive = this.#mayReceive(listener);
    const now = () => {
      const { frames, items } = backlog(board, { ...listener, mayReceive }, after);
      const connection = this.#secretFor(listener);
      return { items, next: frames.id, ...(connection !== undefined && { connection }) };
    };
    const first = now();
    if (first.items.length > 0 || after === undefined || waitMs === 0) return first;
    await this.#change(listener, waitMs, gone);
    return now();
  }

  #secretFor({ instanceId, ...listener }: ListeningClient): ConnectionSecret | undefined {
    return instanceId === undefined ? undefined : this.#parts.secrets.create({ ...listener, instanceId });
  }

  /** @throws ProblemException if no further client may wait */
  async #change(listener: ListeningClient, waitMs: number, gone: AbortSignal): Promise<void> {
    const { board, health } = this.#parts;
    const { tenantId, agentId } = listener;
    const woken = Promise.withResolvers<void>();
    const wake = () => woken.resolve();
    const leave = this.#places.take(listener, wake);
    const timer = setTimeout(wake, waitMs);
    const mayReceive = this.#mayReceive(listener);
    const unfollow = board.follow({ tenantId, agentId, notice: (item) => (mayReceive(item) ? wake() : undefined) });
    gone.addEventListener('abort', wake);
    this.#waiting.add(wake);
    if (health.draining) wake();
    await woken.promise;
    leave();
    this.#waiting.delete(wake);
    gone.removeEventListener('abort', wake);
    unfollow();
    clearTimeout(timer);
  }

  /**
   * For a bound key, filters out orders for runs of other agents, unless they apply to a descendant run of its agents.
   */
  #mayReceive({ tenantId, agents }: ListeningClient): (item: ControlItem) => boolean {
    if (agents === undefined) return () => true;
    return ({ kind, value }) => {
      if (kind !== 'order' || value.scope !== 'run') return true;
      if (value.agentId !== undefined && agents.includes(value.agentId)) return true;
      return this.#parts.runs.concernsAgents(tenantId, value.scopeId, agents);
    };
  }

  /** An instance that reconnected before its old stream ended is still listening. */
  #left({ tenantId, agentId, instanceId }: ControlStream): void {
    if (instanceId === undefined) return;
    const isBack = [...this.#streams].some(
      (other) => other.tenantId === tenantId && other.agentId === agentId && other.instanceId === instanceId,
    );
    if (!isBack) this.#parts.listeners.left({ tenantId, agentId, instanceId });
  }

  #wakeAll(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Only announces the change: each agent's bundle is its own, and signed for the key that requests it. */
  #sendRules({ tenantId, version }: RulesChanged): void {
    for (const stream of this.#streams) if (stream.tenantId === tenantId) stream.send('rules', { version });
  }

  #sendApproval({ tenantId, agentId, runId, id, kind, status, approval, reason }: Alert): void {
    if (kind !== 'approval' || status === 'pending' || status === 'acknowledged') return;
    for (const stream of this.#streams) {
      if (stream.tenantId !== tenantId || stream.agentId !== agentId) continue;
      stream.send('approval', { approvalId: id, status, runId, callId: approval?.callId, reason });
    }
  }
}
