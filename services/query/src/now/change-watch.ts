import { COMMANDS, HOUR_MS, MINUTE_MS, PLATFORM_TENANT } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import { type Clock, type HealthRegistry, type LoopProgress, type Platform, port } from '@agentlens/platform';
import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { sql } from 'kysely';
import { Commands } from '../http/commands.ts';
import { TenantReads } from '../http/tenant-reads.ts';
import { describeChanges } from './change-alerts.ts';
import { UnusualQueries } from './unusual.queries.ts';

const EVERY_MS = MINUTE_MS;
const TENANTS_AT_ONCE = 500;

/**
 * Reports to the owner of alerts, every minute, what differs from before, so that people learn it without the page Now.
 * Every replica reports; the same change is one alert.
 */
@Injectable()
export class ChangeWatch implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #rounds = new Repeating(() => this.#round());
  readonly #progress: LoopProgress;
  #stopped = false;

  constructor(
    private readonly unusual: UnusualQueries,
    private readonly reads: TenantReads,
    private readonly commands: Commands,
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
    @Inject(port('health')) health: HealthRegistry,
  ) {
    this.#progress = health.watchLoop('changes');
  }

  onApplicationBootstrap(): void {
    this.#rounds.start(EVERY_MS);
  }

  beforeApplicationShutdown(): Promise<void> {
    this.#stopped = true;
    return this.#rounds.stop();
  }

  /** Looks at every tenant once, one after the other. */
  async check(): Promise<void> {
    for (let after = ''; !this.#stopped; ) {
      const tenants = await this.#tenantsAfter(after);
      for (const tenantId of tenants) {
        if (this.#stopped) return;
        // A tenant that cannot be looked at does not delay the others.
        await this.#report(tenantId).catch((err: unknown) =>
          this.logger.warn({ err, tenantId }, 'looking for changes failed, will retry'),
        );
      }
      const last = tenants.at(-1);
      if (last === undefined || tenants.length < TENANTS_AT_ONCE) return;
      after = last;
    }
  }

  async #round(): Promise<number> {
    try {
      await this.#progress.attempt(() => this.check());
    } catch (err) {
      this.logger.warn({ err }, 'reading the tenants to look for changes failed, will retry');
    }
    return EVERY_MS;
  }

  async #report(tenantId: string): Promise<void> {
    const nowMs = this.clock.now();
    if (!(await this.#isBusy(tenantId, nowMs))) return;
    const changes = describeChanges(await this.unusual.read(tenantId), nowMs);
    await this.commands.forward(COMMANDS.reportChanges, { tenantId, asOf: new Date(nowMs).toISOString(), changes });
  }

  /** Whether anything can differ from before, or an alert about it may have to end. */
  #isBusy(tenantId: string, nowMs: number): Promise<boolean> {
    const from = new Date(nowMs - HOUR_MS).toISOString();
    return this.reads.read(tenantId, async (db) => {
      const { rows } = await sql<{ isBusy: boolean }>`
        select exists (select from activity
            where tenant_id = ${tenantId} and grain = 'minute' and bucket > ${from}::timestamptz)
          or exists (select from decisions where tenant_id = ${tenantId} and decided_at > ${from}::timestamptz)
          or exists (select from alerts where tenant_id = ${tenantId} and kind = 'change' and status = 'pending')
          as "isBusy"`.execute(db);
      return rows[0]?.isBusy === true;
    });
  }

  async #tenantsAfter(after: string): Promise<readonly string[]> {
    const rows = await this.database.db
      .selectFrom('tenants')
      .select('id')
      .where('id', '>', after)
      .where('id', '<>', PLATFORM_TENANT)
      .orderBy('id')
      .limit(TENANTS_AT_ONCE)
      .execute();
    return rows.map(({ id }) => id);
  }
}
