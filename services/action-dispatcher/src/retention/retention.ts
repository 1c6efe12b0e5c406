import { DAY_MS, HOUR_MS } from '@agentlens/contracts';
import { Repeating } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { metrics } from '@opentelemetry/api';
import type { OldRows, Removed } from './old-rows.repository.ts';
import { ROWS_AT_ONCE } from './old-rows.repository.ts';

/** Between two batches, so that a long backlog of old rows does not keep the disk busy. */
const NEXT_BATCH_MS = 200;
const RETRY_MS = 60_000;

interface RetentionDependencies {
  readonly rows: OldRows;
  readonly now: () => number;
  /** 0 keeps everything for ever. */
  readonly days: number;
  readonly logger: Platform['logger'];
}

/** Lets go of triggers, deliveries, alerts and sealed calls past retention: at the start, then every hour, in small batches. */
export class Retention {
  readonly #parts: RetentionDependencies;
  readonly #meter = metrics.getMeter('@agentlens/action-dispatcher');
  readonly #rows = this.#meter.createCounter('agentlens.retention.rows', {
    description: 'Rows removed because they were past retention, by table',
  });
  readonly #partitions = this.#meter.createCounter('agentlens.retention.partitions', {
    description: 'Partitions dropped because they were past retention, by table',
  });
  readonly #turning = new Repeating(() => this.batch());

  constructor(parts: RetentionDependencies) {
    this.#parts = parts;
  }

  start(): void {
    this.#turning.start(0);
  }

  /** Waits for a batch that is running. */
  stop(): Promise<void> {
    return this.#turning.stop();
  }

  /** One batch of each; answers when the next is due, ms. Never throws. */
  async batch(): Promise<number> {
    const { rows, now, days, logger } = this.#parts;
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
        logger.info({ before, removed, monthsOfTriggers: months }, 'what was past retention is removed');
      }
      return Math.max(deliveries, alerts, calls) === ROWS_AT_ONCE ? NEXT_BATCH_MS : HOUR_MS;
    } catch (err) {
      logger.warn({ err }, 'what is past retention could not be removed just now');
      return RETRY_MS;
    }
  }

  #count(months: number, removed: Removed): void {
    if (months > 0) this.#partitions.add(months, { table: 'guardrail_triggers' });
    for (const [table, count] of Object.entries(removed)) if (count > 0) this.#rows.add(count, { table });
  }
}
