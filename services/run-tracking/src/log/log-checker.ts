import { checkLog, type Database, type LogCheckPosition } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import { LoopProgress, type Platform } from '@agentlens/platform';
import { metrics } from '@opentelemetry/api';

/** A part every half minute: 2,048 entries or 4,096 facts cost tens of milliseconds. */
const ROUND_MS = 30_000;
const FIRST_MS = 10_000;
/** A log that fails so often in a row is left for the next cycle, so that it does not hold up the others. */
const MAX_FAILURES = 3;

interface LogCheckerDependencies extends Pick<Platform, 'logger'> {
  readonly database: Pick<Database, 'db'>;
  readonly progress?: LoopProgress;
  readonly check?: typeof checkLog;
}

interface Place {
  readonly tenantId: string;
  readonly position: LogCheckPosition;
}

/**
 * Compares the provable logs with the database, part by part and one after the other, for ever: a tampering is noticed
 * without a question. Repairs nothing.
 */
export class LogChecker {
  readonly #dependencies: LogCheckerDependencies;
  readonly #progress: LoopProgress;
  readonly #checking = new Repeating(() => this.check());
  /** Differences of each log, as its last whole check or the running one found them. */
  readonly #differences = new Map<string, number>();
  #place: Place | undefined;
  /** Tenant of the log that was checked last. */
  #after = '';
  /** Of the running check of a log. */
  #found = 0;
  /** In a row, at one place. */
  #failures = 0;

  constructor(dependencies: LogCheckerDependencies) {
    this.#dependencies = dependencies;
    this.#progress = dependencies.progress ?? new LoopProgress();
    metrics
      .getMeter('@agentlens/run-tracking')
      .createObservableGauge('agentlens.log.differences', {
        description: 'Provable logs that differ from the database',
      })
      .addCallback((result) => result.observe(this.differing));
  }

  /** Number of logs that differ from the database. */
  get differing(): number {
    return [...this.#differences.values()].filter((found) => found > 0).length;
  }

  start(): void {
    this.#checking.start(FIRST_MS);
  }

  stop(): Promise<void> {
    return this.#checking.stop();
  }

  /** Checks the next part. Never throws. @returns when the next one is due, ms */
  async check(): Promise<number> {
    const { logger } = this.#dependencies;
    try {
      this.#place ??= await this.#findNext(this.#after);
      if (this.#place !== undefined) await this.#checkPart(this.#place);
      this.#failures = 0;
      this.#progress.succeeded();
    } catch (err) {
      this.#progress.failed();
      logger.warn({ err, tenantId: this.#place?.tenantId }, 'checking the provable log failed, will retry');
      this.#failures += 1;
      if (this.#failures >= MAX_FAILURES && this.#place !== undefined) this.#leave(this.#place);
    }
    return ROUND_MS;
  }

  /** The next round begins with the log after this one. */
  #leave({ tenantId }: Place): void {
    this.#place = undefined;
    this.#after = tenantId;
    this.#found = 0;
    this.#failures = 0;
  }

  async #checkPart({ tenantId, position }: Place): Promise<void> {
    const { database, logger, check = checkLog } = this.#dependencies;
    const { findings, next } = await database.db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute((tx) => check(tx, tenantId, position));
    const [first] = findings;
    this.#found += findings.length;
    if (first !== undefined) {
      logger.error({ tenantId, ...first }, 'a provable log differs from the database');
      this.#differences.set(tenantId, this.#found);
    }
    this.#place = { tenantId, position: next ?? position };
    if (next !== undefined) return;
    this.#differences.set(tenantId, this.#found);
    this.#leave(this.#place);
  }

  /** The first log after a tenant's; after the last one, the first of all. */
  async #findNext(after: string): Promise<Place | undefined> {
    const { db } = this.#dependencies.database;
    const find = (from: string) =>
      db
        .selectFrom('log_heads')
        .select('tenant_id')
        .where('tenant_id', '>', from)
        .orderBy('tenant_id')
        .limit(1)
        .executeTakeFirst();
    const row = (await find(after)) ?? (after === '' ? undefined : await find(''));
    return row && { tenantId: row.tenant_id, position: { from: 0 } };
  }
}
