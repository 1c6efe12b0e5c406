import type { Database, TenantsTable } from '@agentlens/database';
import type { TenantSettings, TenantSettingsPatch } from '@agentlens/operations';
import { DATABASE } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import type { Selectable } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';

const COLUMNS = ['decision_fail_mode', 'default_breaker', 'decision_arguments', 'settings_version'] as const;

/** The columns of `tenants` that a tenant may set itself; this service is their only writer. */
@Injectable()
export class SettingsRepository {
  constructor(
    private readonly reads: TenantReads,
    @Inject(DATABASE) private readonly database: Database,
  ) {}

  async read(tenantId: string): Promise<TenantSettings | null> {
    const row = await this.reads.read(tenantId, (db) =>
      db.selectFrom('tenants').select(COLUMNS).where('id', '=', tenantId).executeTakeFirst(),
    );
    return row === undefined ? null : settingsOf(row);
  }

  /** Null: no such tenant. What is not named stays. */
  async change(tenantId: string, patch: TenantSettingsPatch): Promise<TenantSettings | null> {
    const row = await this.database.db
      .updateTable('tenants')
      .set((eb) => ({
        decision_fail_mode: patch.decisionFailMode,
        default_breaker: patch.defaultBreaker,
        decision_arguments: patch.decisionArguments,
        settings_version: eb('settings_version', '+', 1),
      }))
      .where('id', '=', tenantId)
      .returning(COLUMNS)
      .executeTakeFirst();
    return row === undefined ? null : settingsOf(row);
  }
}

function settingsOf(row: Pick<Selectable<TenantsTable>, (typeof COLUMNS)[number]>): TenantSettings {
  return {
    decisionFailMode: row.decision_fail_mode,
    defaultBreaker: row.default_breaker,
    decisionArguments: row.decision_arguments,
    version: row.settings_version,
  };
}
