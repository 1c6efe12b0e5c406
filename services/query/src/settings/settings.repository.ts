import { type ChangeAuthor, NO_TREE_LIMITS, TreeLimits } from '@agentlens/contracts';
import { type Database, recordChanges, type TenantsTable } from '@agentlens/database';
import type { StoredTreeLimits, TenantSettings, TenantSettingsPatch } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import type { Selectable } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';

const COLUMNS = [
  'decision_fail_mode',
  'decision_path',
  'default_breaker',
  'decision_arguments',
  'denied_calls',
  'content_retention_days',
  'settings_version',
] as const;

const TREE_COLUMNS = ['tree_limits', 'tree_limits_version'] as const;

type StoredLimits = Omit<StoredTreeLimits, 'scope'>;

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
          decision_path: after.decisionPath,
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

  /** Returns null if the tenant does not exist. */
  async treeLimits(tenantId: string): Promise<StoredLimits | null> {
    const row = await this.reads.read(tenantId, (db) =>
      db.selectFrom('tenants').select(TREE_COLUMNS).where('id', '=', tenantId).executeTakeFirst(),
    );
    return row === undefined ? null : treeLimitsOf(row);
  }

  /**
   * Returns null if the tenant does not exist. The result has no `stored` if the version is `current` instead of
   * `ifVersion`.
   */
  setTreeLimits(
    tenantId: string,
    limits: TreeLimits,
    author: ChangeAuthor,
    ifVersion: number | undefined,
  ): Promise<{ readonly stored?: StoredLimits; readonly current: number } | null> {
    return this.database.db.transaction().execute(async (db) => {
      const row = await db
        .selectFrom('tenants')
        .select(TREE_COLUMNS)
        .where('id', '=', tenantId)
        .forUpdate()
        .executeTakeFirst();
      if (row === undefined) return null;
      const { limits: before, version: current } = treeLimitsOf(row);
      if (ifVersion !== undefined && ifVersion !== current) return { current };
      const version = current + 1;
      await db
        .updateTable('tenants')
        .set({ tree_limits: JSON.stringify(limits), tree_limits_version: version })
        .where('id', '=', tenantId)
        .execute();
      const at = new Date(this.clock.now()).toISOString();
      const change = { tenantId, at, targetId: tenantId, author, before, after: limits };
      await recordChanges(db, [{ kind: 'tree_limits.set', ...change }]);
      return { stored: { limits, version }, current: version };
    });
  }
}

function settingsOf(row: Pick<Selectable<TenantsTable>, (typeof COLUMNS)[number]>): TenantSettings {
  return {
    decisionFailMode: row.decision_fail_mode,
    decisionPath: row.decision_path,
    defaultBreaker: row.default_breaker,
    decisionArguments: row.decision_arguments,
    deniedCalls: row.denied_calls,
    contentRetentionDays: row.content_retention_days,
    version: row.settings_version,
  };
}

function treeLimitsOf(row: Pick<Selectable<TenantsTable>, (typeof TREE_COLUMNS)[number]>): StoredLimits {
  const limits = row.tree_limits === null ? NO_TREE_LIMITS : TreeLimits.parse(row.tree_limits);
  return { limits, version: row.tree_limits_version };
}
