import type { ChangeAuthor } from '@agentlens/contracts';
import { type Database, recordChanges, type TenantsTable } from '@agentlens/database';
import type { TenantSettings, TenantSettingsPatch } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import type { Selectable } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';

const COLUMNS = [
  'decision_fail_mode',
  'default_breaker',
  'decision_arguments',
  'denied_calls',
  'content_retention_days',
  'settings_version',
] as const;

/** The columns of `tenants` that a tenant can set itself. This service is their only writer. */
@Injectable()
export class SettingsRepository {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async read(tenantId: string): Promise<TenantSettings | null> {
    const row = await this.reads.read(tenantId, (db) =>
      db.selectFrom('tenants').select(COLUMNS).where('id', '=', tenantId).executeTakeFirst(),
    );
    return row === undefined ? null : settingsOf(row);
  }

  /**
   * Changes the named settings and keeps the others. Returns null if the tenant does not exist. The result has no
   * `settings` if their version is `current` instead of `ifVersion`.
   */
  change(
    tenantId: string,
    patch: TenantSettingsPatch,
    author: ChangeAuthor,
    ifVersion: number | undefined,
  ): Promise<{ readonly settings?: TenantSettings; readonly current: number } | null> {
    return this.database.db.transaction().execute(async (db) => {
      const stored = await db
        .selectFrom('tenants')
        .select(COLUMNS)
        .where('id', '=', tenantId)
        .forUpdate()
        .executeTakeFirst();
      if (stored === undefined) return null;
      const before = settingsOf(stored);
      if (ifVersion !== undefined && ifVersion !== before.version) return { current: before.version };
      const after = { ...before, ...patch, version: before.version + 1 };
      await db
        .updateTable('tenants')
        .set({
          decision_fail_mode: after.decisionFailMode,
          default_breaker: after.defaultBreaker,
          decision_arguments: after.decisionArguments,
          denied_calls: after.deniedCalls,
          content_retention_days: after.contentRetentionDays,
          settings_version: after.version,
        })
        .where('id', '=', tenantId)
        .execute();
      const at = new Date(this.clock.now()).toISOString();
      await recordChanges(db, [{ tenantId, at, kind: 'settings.changed', targetId: tenantId, author, before, after }]);
      return { settings: after, current: after.version };
    });
  }
}

function settingsOf(row: Pick<Selectable<TenantsTable>, (typeof COLUMNS)[number]>): TenantSettings {
  return {
    decisionFailMode: row.decision_fail_mode,
    defaultBreaker: row.default_breaker,
    decisionArguments: row.decision_arguments,
    deniedCalls: row.denied_calls,
    contentRetentionDays: row.content_retention_days,
    version: row.settings_version,
  };
}
