import { COMMANDS, deliverySettled, guardrailTriggered, type Trigger } from '@agentlens/contracts';
import { type Database, OutboxRelay } from '@agentlens/database';
import type { EgressClient, EgressPolicy } from '@agentlens/egress';
import type { EventBus, Subscription } from '@agentlens/messaging';
import type { Clock, HealthRegistry, Platform, SecretBox } from '@agentlens/platform';
import { answered } from './answered.ts';
import type { ClaimedDelivery, Lane } from './deliveries/claimed-delivery.ts';
import { type Backlog, DeliveriesRepository } from './deliveries/deliveries.repository.ts';
import { DeliveryExecutor } from './deliveries/delivery-executor.ts';
import { DeliveryMetrics } from './deliveries/delivery-metrics.ts';
import { DeliveryWorker } from './deliveries/delivery-worker.ts';
import { Lanes, LIMITS } from './deliveries/lanes.ts';
import { Redelivery } from './deliveries/redelivery.ts';
import { ResultRecorder } from './deliveries/result-recorder.ts';
import { type SettledDelivery, SettlementsRepository } from './deliveries/settlements.repository.ts';
import { DestinationBreakers } from './destinations/destination-breakers.ts';
import { AgentControl } from './directives/agent-control.ts';
import { AgentDirectivesRepository } from './directives/agent-directives.repository.ts';
import { PauseRearmService } from './directives/pause-rearm.service.ts';
import { WRITER } from './outbox/outbox.ts';
import { publishFact } from './outbox/outbox-publisher.ts';
import { RunActions } from './removal/run-actions.repository.ts';
import { OldRows } from './retention/old-rows.repository.ts';
import { Retention } from './retention/retention.ts';
import { Review } from './review.ts';
import { TriggerPartitions } from './triggers/trigger-partitions.ts';
import { type RecordedTriggers, TriggerRecorder } from './triggers/trigger-recorder.ts';
import { GROUP, TriggersConsumer } from './triggers/triggers.consumer.ts';
import { RecordWatch } from './webhooks/record-watch.ts';

interface DispatcherDependencies {
  readonly bus: EventBus;
  readonly database: Database;
  readonly clock: Clock;
  readonly secrets: SecretBox;
  readonly egress: EgressClient;
  readonly egressPolicy: EgressPolicy;
  readonly logger: Platform['logger'];
  readonly health: HealthRegistry;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly timings?: Partial<Timings>;
  /** How long what is over is kept, days. Default 0: for ever. */
  readonly retentionDays?: number | undefined;
  /** Where people reach the platform; without it nothing links there. */
  readonly publicUrl?: string | undefined;
}

export interface Timings {
  readonly pollMs: number;
  readonly leaseMs: number;
  readonly deadlineMs: number;
  /** How often gauges of what waits are brought up to date. */
  readonly observeMs: number;
}

/** Waiting, the attempt and recording it end well before the lease does, so a living worker never loses one. */
const TIMINGS: Timings = { pollMs: 1_000, leaseMs: 30_000, deadlineMs: 20_000, observeMs: 5_000 };
/** How long a delivery that was taken may wait for a place. */
const PATIENCE_MS = 4_000;
/** Facts that nobody waits for are published together. */
const PUBLISH_SETTLED_MS = 50;
/** Shutting down has ten seconds for everything. */
const GRACE_MS = 7_000;
/** Without progress for this long, something hangs. */
const STALLED_MS = 30_000;

/** Of such a trigger nothing is left to be done but to tell. */
const AT_AN_END: ReadonlySet<RecordedTriggers> = new Set(['dry_run', 'cooldown', 'failed']);

/** Everything the service does, without the framework around it. */
export class Dispatcher {
  readonly #parts: DispatcherDependencies;
  readonly #metrics = new DeliveryMetrics();
  readonly #breakers = new DestinationBreakers();
  readonly #deliveries: DeliveriesRepository;
  readonly #relay: OutboxRelay;
  readonly #lanes: Lanes;
  readonly #consumer: TriggersConsumer;
  readonly #control: AgentControl;
  readonly #review: Review;
  readonly #redelivery: Redelivery;
  readonly #retention: Retention;
  readonly #records: RecordWatch;
  readonly #served: Subscription[] = [];
  #observing: NodeJS.Timeout | undefined;
  #publishing: NodeJS.Timeout | undefined;
  #backlog: Backlog = { waiting: 0, oldestDueMs: 0 };

  constructor(parts: DispatcherDependencies) {
    this.#parts = parts;
    const { bus, clock, logger, secrets, egressPolicy } = parts;
    const { db } = parts.database;
    const now = () => clock.now();
    this.#relay = new OutboxRelay({
      db,
      writer: WRITER,
      publish: (message) => publishFact(bus, message),
      unordered: ({ topic }) => topic === deliverySettled.name,
      onError: (error) => logger.warn({ err: error }, 'outbox was not published, it will be'),
    });
    this.#deliveries = new DeliveriesRepository(db);
    const rearming = new PauseRearmService(db, bus);
    this.#control = new AgentControl(new AgentDirectivesRepository(db), rearming, now, () => this.#relay.nudge());
    this.#review = new Review({
      bus,
      db,
      now,
      directives: this.#control,
      secrets,
      egressPolicy,
      sweepMs: { ...TIMINGS, ...parts.timings }.pollMs,
      onChanged: () => {
        this.#relay.nudge();
        this.#lanes.wake();
      },
      onError: (error) => logger.warn({ err: error }, 'alerts that ran out could not be ended just now'),
    });
    this.#lanes = new Lanes({ internal: this.#worker('internal'), outbound: this.#worker('outbound') });
    this.#redelivery = new Redelivery(db, now, (destination) => {
      if (destination !== null) this.#breakers.reset(destination);
      this.#lanes.wake();
    });
    this.#records = new RecordWatch({
      ...{ db, now },
      onQueued: () => this.#lanes.wake(),
      onError: (error) => logger.warn({ err: error }, 'webhooks could not be told of changes and budgets just now'),
    });
    this.#retention = new Retention({ rows: new OldRows(db), now, days: parts.retentionDays ?? 0, logger });
    const partitions = new TriggerPartitions(db, now, (error) =>
      logger.warn({ err: error }, 'the partition of this month was not made, the default one serves'),
    );
    const recorder = new TriggerRecorder(db, partitions, now, this.#lanes);
    this.#consumer = new TriggersConsumer(bus, recorder, (...recorded) => this.#onRecorded(...recorded));
  }

  async start(): Promise<void> {
    const { bus, clock, health } = this.#parts;
    this.#relay.start();
    this.#lanes.start();
    this.#records.start();
    this.#served.push(await bus.serve(COMMANDS.unpauseAgent, (question) => answered(this.#control.unpause(question))));
    this.#served.push(
      await bus.serve(COMMANDS.redeliver, (question) => answered(this.#redelivery.redeliver(question))),
    );
    const runActions = new RunActions(this.#parts.database.db);
    this.#served.push(
      await bus.serve(COMMANDS.deleteRunActions, ({ tenantId, runIds }) =>
        answered(runActions.delete(tenantId, runIds)),
      ),
      await bus.serve(COMMANDS.eraseRunActions, ({ tenantId, runIds }) => answered(runActions.erase(tenantId, runIds))),
    );
    await this.#review.start();
    await this.#consumer.start();
    this.#retention.start();
    const { observeMs } = { ...TIMINGS, ...this.#parts.timings };
    this.#observing = setInterval(() => void this.#observe(), observeMs);
    health.add('deliveries', async () => this.#progress());
    health.add('triggers', async () => {
      const { oldestAgeMs } = await bus.lag(guardrailTriggered, GROUP);
      return { ok: oldestAgeMs < STALLED_MS, detail: { oldestAgeMs } };
    });
    health.add('alerts', async () => {
      const oldestAgeMs = await this.#review.oldestAgeMs();
      const sinceSweepMs = clock.now() - this.#review.lastSweepAt;
      return { ok: Math.max(oldestAgeMs, sinceSweepMs) < STALLED_MS, detail: { oldestAgeMs, sinceSweepMs } };
    });
  }

  /** Takes nothing new, ends what is running, publishes what that made true. */
  async stop(): Promise<void> {
    clearInterval(this.#observing);
    await Promise.all([
      this.#lanes.stop(GRACE_MS),
      this.#consumer.stop(),
      this.#review.stop(),
      this.#retention.stop(),
      this.#records.stop(),
      ...this.#served.map((subscription) => subscription.close()),
    ]);
    clearTimeout(this.#publishing);
    await this.#relay.stop();
    await this.#relay.drain().catch(() => 0); // what is left, the next start publishes
  }

  #worker(lane: Lane): DeliveryWorker {
    const { database, clock, egress, secrets, logger, random, timings, publicUrl } = this.#parts;
    const { pollMs, leaseMs, deadlineMs } = { ...TIMINGS, ...timings };
    const now = () => clock.now();
    const onError = (error: unknown, delivery?: ClaimedDelivery) =>
      logger.warn(
        { err: error, ...identityOf(delivery) },
        delivery === undefined
          ? 'no deliveries could be claimed just now'
          : 'a delivery met an error, it will be tried again',
      );
    const executor = new DeliveryExecutor({
      egress,
      secrets,
      directives: this.#control,
      alerts: this.#review.alerts,
      breakers: this.#breakers,
      now,
      random,
      onError,
      deadlineMs,
      publicUrl,
    });
    const results = new ResultRecorder({
      deliveries: this.#deliveries,
      settlements: new SettlementsRepository(database.db),
      now,
      leaseMs,
      onSettled: (ended) => this.#onSettled(ended),
    });
    return new DeliveryWorker({
      lane,
      limits: LIMITS[lane],
      deliveries: this.#deliveries,
      results,
      executor,
      metrics: this.#metrics,
      now,
      leaseMs,
      patienceMs: PATIENCE_MS,
      pollMs,
      onError,
    });
  }

  #onRecorded(recorded: readonly RecordedTriggers[], triggers: readonly Trigger[]): void {
    for (const [n, { actionType }] of triggers.entries()) {
      const result = recorded[n] ?? 'known';
      this.#metrics.recorded(result === 'begun' ? 'queued' : result);
      // Nobody knows its rule: it ends here, without a delivery that could be settled.
      if (result === 'failed') this.#metrics.givenUp(actionType, 'impossible');
    }
    if (recorded.includes('queued')) this.#lanes.wake();
    if (recorded.some((result) => AT_AN_END.has(result))) this.#publishSoon();
  }

  #onSettled(ended: readonly SettledDelivery[]): void {
    for (const { delivery, settlement } of ended) {
      const { next } = settlement;
      if (next.kind === 'settled' && next.result === 'failed') this.#metrics.givenUp(delivery.actionType, next.why);
    }
    this.#publishSoon();
  }

  #publishSoon(): void {
    this.#publishing ??= setTimeout(() => {
      this.#publishing = undefined;
      this.#relay.nudge();
    }, PUBLISH_SETTLED_MS);
  }

  async #observe(): Promise<void> {
    const { clock, logger } = this.#parts;
    try {
      this.#backlog = await this.#deliveries.backlog(clock.now());
      this.#metrics.observed(this.#backlog, this.#breakers.unwell);
      await this.#review.observe();
    } catch (error) {
      logger.warn({ err: error }, 'what waits for delivery or for a human could not be read');
    }
  }

  /** Progress, not connectivity: every lane has lately managed to ask for work. */
  #progress() {
    const now = this.#parts.clock.now();
    const sinceClaimMs = now - this.#lanes.lastClaimAt;
    return { ok: sinceClaimMs < STALLED_MS, detail: { sinceClaimMs, ...this.#backlog } };
  }
}

/** Never the config: it holds secrets. */
function identityOf(delivery: ClaimedDelivery | undefined): object {
  if (delivery === undefined) return {};
  const { tenantId, deliveryId, actionType, attempts } = delivery;
  return { tenantId, deliveryId, actionType, attempts };
}
