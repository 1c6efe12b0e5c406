import { breakerChanged, directiveAcknowledged, GROUPS, guardrailTriggered } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { Platform } from '@agentlens/platform';
import type { Kysely } from 'kysely';
import type { AlertMetrics } from './alerts/alert-metrics.ts';
import { countWaiting } from './alerts/alerts.repository.ts';
import type { ExpirySweeper } from './alerts/expiry-sweeper.ts';
import type { Backlog, DeliveriesRepository } from './deliveries/deliveries.repository.ts';
import type { Lanes } from './deliveries/lanes.ts';
import type { DeliveryMetrics } from './delivery-metrics.ts';
import type { DestinationBreakers } from './destinations/destinations.ts';
import type { Notifier } from './notices/notifier.ts';
import type { Outbox } from './outbox/outbox.ts';
import type { Retention } from './retention/retention.ts';
import type { RecordWatch } from './webhooks/record-watch.ts';
import type { WitnessAsker } from './witnesses/witness-asker.ts';

/** Time for running attempts to end at shutdown; the process has ten seconds for everything. */
const GRACE_MS = 7_000;
/** A part that has made no progress for this long is not ready. */
const STALLED_MS = 30_000;

interface DispatcherDependencies extends Pick<Platform, 'bus' | 'clock' | 'health' | 'logger'> {
  readonly db: Kysely<Tables>;
  readonly outbox: Outbox;
  readonly lanes: Lanes;
  readonly records: RecordWatch;
  readonly retention: Retention;
  readonly sweeper: ExpirySweeper;
  readonly notifier: Notifier;
  readonly witnesses: WitnessAsker;
  readonly deliveries: DeliveriesRepository;
  readonly breakers: DestinationBreakers;
  readonly deliveryMetrics: DeliveryMetrics;
  readonly alertMetrics: AlertMetrics;
  /** Interval between updates of the gauges, ms. */
  readonly observeMs: number;
}

/** Background work of the service (delivery workers, outbox, sweeps, retention) and its health checks. */
export class Dispatcher {
  readonly #dependencies: DispatcherDependencies;
  #observing: NodeJS.Timeout | undefined;
  #backlog: Backlog = { waiting: 0, oldestDueMs: 0 };

  constructor(dependencies: DispatcherDependencies) {
    this.#dependencies = dependencies;
  }

  start(): void {
    const { outbox, lanes, records, retention, sweeper, notifier, witnesses, health, observeMs } = this.#dependencies;
    outbox.start();
    lanes.start();
    records.start();
    sweeper.start();
    notifier.start();
    retention.start();
    witnesses.start();
    this.#observing = setInterval(() => void this.#observe(), observeMs);
    health.add('deliveries', () => this.#deliveryHealth());
    health.add('triggers', () => this.#triggerHealth());
    health.add('alerts', () => this.#alertHealth());
  }

  /** Claims nothing new, waits for running attempts, then publishes their results. */
  async stop(): Promise<void> {
    const { outbox, lanes, records, retention, sweeper, notifier, witnesses } = this.#dependencies;
    clearInterval(this.#observing);
    const parts = [sweeper, retention, records, notifier, witnesses];
    await Promise.all([lanes.stop(GRACE_MS), ...parts.map((part) => part.stop())]);
    await outbox.stop();
  }

  async #observe(): Promise<void> {
    const { db, clock, deliveries, breakers, deliveryMetrics, alertMetrics, logger } = this.#dependencies;
    try {
      this.#backlog = await deliveries.backlog(clock.now());
      deliveryMetrics.observed(this.#backlog, breakers.unwell);
      alertMetrics.observed(await countWaiting(db, clock.now()));
    } catch (err) {
      logger.warn({ err }, 'reading the backlog of deliveries and approvals failed, will retry');
    }
  }

  /** Progress, not connectivity: when the slowest lane last asked for work. */
  async #deliveryHealth() {
    const sinceClaimMs = this.#dependencies.clock.now() - this.#dependencies.lanes.lastClaimAt;
    return { ok: sinceClaimMs < STALLED_MS, detail: { sinceClaimMs, ...this.#backlog } };
  }

  async #triggerHealth() {
    const { oldestAgeMs } = await this.#dependencies.bus.lag(guardrailTriggered, GROUPS.actionDispatcher);
    return { ok: oldestAgeMs < STALLED_MS, detail: { oldestAgeMs } };
  }

  async #alertHealth() {
    const { bus, clock, sweeper } = this.#dependencies;
    const [breakers, acknowledgements] = await Promise.all([
      bus.lag(breakerChanged, GROUPS.breakerAlerts),
      bus.lag(directiveAcknowledged, GROUPS.acknowledgements),
    ]);
    const oldestAgeMs = Math.max(breakers.oldestAgeMs, acknowledgements.oldestAgeMs);
    const sinceSweepMs = clock.now() - sweeper.lastSweepAt;
    return { ok: Math.max(oldestAgeMs, sinceSweepMs) < STALLED_MS, detail: { oldestAgeMs, sinceSweepMs } };
  }
}
