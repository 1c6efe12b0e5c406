import { DAY_MS, HOUR_MS } from '@agentlens/contracts';
import { Repeating } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { metrics } from '@opentelemetry/api';
import type { OldRows, Removed } from './old-rows.repository.ts';
import { ROWS_AT_ONCE } from './old-rows.repository.ts';

/** Pause between batches, so that a long backlog does not keep the disk busy. */
const NEXT_BATCH_MS = 200;
const RETRY_MS = 60_000;

interface RetentionDependencies {
  readonly rows: OldRows;
  readonly now: () => number;
  /** 0 keeps everything. */
  readonly days: number;
  readonly logger: Platform['logger'];
}

/**
 * Removes triggers, deliveries, alerts and sealed calls past retention: at the start, then hourly, in small batches.
 */
export class Retention {
  readonly #dependencies: RetentionDependencies;
  readonly #meter = metrics.getMeter('@agentlens/action-dispatcher');
  readonly #rows = this.#meter.createCounter('agentlens.retention.rows', {
    description: 'Rows removed because they were past retention, by table',
  });
  readonly #partitions = this.#meter.createCounter('agentlens.retention.partitions', {
    description: 'Partitions dropped because they were past retention, by table',
  });
  readonly #turning = new Repeating(() => this.batch());

  constructor(dependencies: RetentionDependencies) {
    this.#dependencies = dependencies;
  }

  start(): void {
    this.#turning.start(0);
  }

  /** Waits for a running batch. */
  stop(): Promise<void> {
    return this.#turning.stop();
  }

  /** Removes one batch of each. Never throws. @returns when the next batch is due, ms */
  async batch(): Promise<number> {
    const { rows, now, days, logger } = this.#dependencies;
    const nowMs = now();
    const beforeMs = nowMs - days * DAY_MS;
    const before = new Date(beforeMs).toISOString();
    try {
      const months = days === 0 ? 0 : await rows.dropTriggerMonths(beforeMs);
      const removed = {
        ...(await rows.removeCalls(new Date(nowMs).toISOString())),
        ...(days > 0 && { ...(await rows.removeDeliveries(before)), ...(await rows.removeAlerts(before)) }),
      };
      this.#count(months, removed);
      const { deliveries = 0, alerts = 0, approval_calls: calls = 0 } = removed;
      if (months + deliveries + alerts + calls > 0) {
        logger.info({ before, removed, monthsOfTriggers: months }, 'removed rows past retention');
      }
      return Math.max(deliveries, alerts, calls) === ROWS_AT_ONCE ? NEXT_BATCH_MS : HOUR_MS;
    } catch (err) {
      logger.warn({ err }, 'removing rows past retention failed, will retry');
      return RETRY_MS;
    }
  }

  #count(months: number, removed: Removed): void {
    if (months > 0) this.#partitions.add(months, { table: 'guardrail_triggers' });
    for (const [table, count] of Object.entries(removed)) if (count > 0) this.#rows.add(count, { table });
  }
}
