import { DAY_MS, HOUR_MS } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import type { Clock, Platform } from '@agentlens/platform';
import { RetentionMetrics } from '../retention-metrics.ts';
import { OldContents } from './old-contents.repository.ts';

const RETRY_MS = 60_000;
/** Between two batches, so that a long backlog does not keep the disk busy. */
const NEXT_BATCH_MS = 200;
/** A round begins where the last one ended, less this for events that come late; later ones wait for the daily round. */
const LATE_MS = DAY_MS;
/** All that is stored is looked through again so often, and when the process starts. */
const WHOLE_EVERY_MS = DAY_MS;

interface ContentRetentionDependencies {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

/** Removes what older events, decisions and runs say where a tenant keeps it for less long than the events. */
export class ContentRetention {
  readonly #parts: ContentRetentionDependencies;
  readonly #contents: OldContents;
  readonly #metrics = new RetentionMetrics();
  readonly #turning = new Repeating(() => this.batch());
  /** Up to where a tenant's contents were removed by this process, ms. */
  readonly #expiredUntil = new Map<string, number>();
  #wholeAt = 0;

  constructor(parts: ContentRetentionDependencies) {
    this.#parts = parts;
    this.#contents = new OldContents(parts.database);
  }

  start(): void {
    this.#turning.start(0);
  }

  stop(): Promise<void> {
    return this.#turning.stop();
  }

  /** One batch of each tenant; answers when the next is due, ms. Never throws. Replicas may do the same at once. */
  async batch(): Promise<number> {
    const { clock, logger } = this.#parts;
    const nowMs = clock.now();
    if (nowMs - this.#wholeAt >= WHOLE_EVERY_MS) {
      this.#expiredUntil.clear();
      this.#wholeAt = nowMs;
    }
    try {
      let complete = true;
      for (const { tenantId, days } of await this.#contents.tenants()) {
        complete = !(await this.#expire(tenantId, nowMs - days * DAY_MS)) && complete;
      }
      return complete ? HOUR_MS : NEXT_BATCH_MS;
    } catch (err) {
      logger.warn({ err }, 'contents past retention could not be removed just now');
      return RETRY_MS;
    }
  }

  /** Whether more may be left. */
  async #expire(tenantId: string, beforeMs: number): Promise<boolean> {
    const fromMs = (this.#expiredUntil.get(tenantId) ?? LATE_MS) - LATE_MS;
    const range = { tenantId, from: new Date(fromMs).toISOString(), before: new Date(beforeMs).toISOString() };
    const { expired, more } = await this.#contents.expireSome(range);
    for (const [table, rows] of Object.entries(expired)) this.#metrics.contents(table, rows);
    if (expired.events > 0) this.#parts.logger.info({ ...range, expired }, 'contents past retention are removed');
    if (!more) this.#expiredUntil.set(tenantId, beforeMs);
    return more;
  }
}
