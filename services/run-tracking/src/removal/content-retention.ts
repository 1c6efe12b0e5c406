import { DAY_MS, HOUR_MS } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { RetentionMetrics } from '../retention-metrics.ts';
import { OldContents } from './old-contents.repository.ts';

const RETRY_MS = 60_000;
/** Pause between two batches, so that a long backlog does not keep the disk busy. */
const NEXT_BATCH_MS = 200;
/** Each round also covers this much before the end of the last one, for late events; later ones wait for the daily round. */
const LATE_MS = DAY_MS;
/** How often everything stored is scanned again; the first scan is at the start. */
const WHOLE_EVERY_MS = DAY_MS;

interface ContentRetentionDependencies extends Pick<Platform, 'clock' | 'logger'> {
  readonly database: Database;
}

/** Removes the contents of events, decisions and runs for tenants that keep contents for less time than events. */
export class ContentRetention {
  readonly #dependencies: ContentRetentionDependencies;
  readonly #contents: OldContents;
  readonly #metrics = new RetentionMetrics();
  readonly #turning = new Repeating(() => this.batch());
  /** Per tenant, the time up to which this process has removed contents, ms. */
  readonly #expiredUntil = new Map<string, number>();
  #wholeAt = 0;

  constructor(dependencies: ContentRetentionDependencies) {
    this.#dependencies = dependencies;
    this.#contents = new OldContents(dependencies.database);
  }

  start(): void {
    this.#turning.start(0);
  }

  stop(): Promise<void> {
    return this.#turning.stop();
  }

  /** Removes one batch per tenant. Never throws. Replicas may do so at the same time. @returns when the next is due, ms */
  async batch(): Promise<number> {
    const { clock, logger } = this.#dependencies;
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
      logger.warn({ err }, 'removing contents past retention failed, will retry');
      return RETRY_MS;
    }
  }

  /** @returns true if more may be left */
  async #expire(tenantId: string, beforeMs: number): Promise<boolean> {
    const fromMs = (this.#expiredUntil.get(tenantId) ?? LATE_MS) - LATE_MS;
    const range = { tenantId, from: new Date(fromMs).toISOString(), before: new Date(beforeMs).toISOString() };
    const { expired, more } = await this.#contents.expireSome(range);
    for (const [table, rows] of Object.entries(expired)) this.#metrics.contents(table, rows);
    if (expired.events > 0) this.#dependencies.logger.info({ ...range, expired }, 'removed contents past retention');
    if (!more) this.#expiredUntil.set(tenantId, beforeMs);
    return more;
  }
}
