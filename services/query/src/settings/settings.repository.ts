import type { Database } from '@agentlens/database';
import type { TenantSettings } from '@agentlens/operations';
import { DATABASE } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { TenantReads } from '../http/tenant-reads.ts';

/** The columns of `tenants` that a tenant may set itself; this service is their only writer. */
@Injectable()
export class SettingsRepository {
  constructor(
    private readonly reads: TenantReads,
    @Inject(DATABASE) private readonly database: Database,
  ) {}

  async read(tenantId: string): Promise<TenantSettings | null> {
    const row = await this.reads.read(tenantId, (db) =>
      db.selectFrom('tenants').select('decision_fail_mode').where('id', '=', tenantId).executeTakeFirst(),
    );
    return row === undefined ? null : { decisionFailMode: row.decision_fail_mode };
  }

  /** Null: no such tenant. */
  async write(tenantId: string, { decisionFailMode }: TenantSettings): Promise<TenantSettings | null> {
    const row = await this.database.db
      .updateTable('tenants')
      .set({ decision_fail_mode: decisionFailMode })
      .where('id', '=', tenantId)
      .returning('decision_fail_mode')
      .executeTakeFirst();
    return row === undefined ? null : { decisionFailMode: row.decision_fail_mode };
  }
}
