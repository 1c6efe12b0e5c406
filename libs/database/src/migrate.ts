import { Kysely, PostgresDialect } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type pg from 'pg';
import * as init from './migrations/0001-init.ts';
import * as rolesAndGrants from './migrations/0002-roles-and-grants.ts';
import * as decisions from './migrations/0003-decisions.ts';
import * as runs from './migrations/0004-runs.ts';
import * as audit from './migrations/0005-audit.ts';
import * as agentOfRunOrders from './migrations/0006-agent-of-run-orders.ts';
import * as decisionFailMode from './migrations/0007-decision-fail-mode.ts';
import * as retentionIndexes from './migrations/0008-retention-indexes.ts';
import * as rowTypes from './migrations/0009-row-types.ts';
import * as roomInRuns from './migrations/0010-room-in-runs.ts';
import * as unroundedMoney from './migrations/0011-unrounded-money.ts';
import * as whatBlocks from './migrations/0012-what-blocks.ts';
import * as twoEndsOfARun from './migrations/0013-two-ends-of-a-run.ts';
import * as singleUseApprovals from './migrations/0014-single-use-approvals.ts';
import * as whatErrorRatesCount from './migrations/0015-what-error-rates-count.ts';
import * as ruleVersions from './migrations/0016-rule-versions.ts';
import * as tenantSettings from './migrations/0017-tenant-settings.ts';
import * as boundKeys from './migrations/0018-bound-keys.ts';
import * as webhookEndpoints from './migrations/0019-webhook-endpoints.ts';
import * as rearmedRules from './migrations/0020-rearmed-rules.ts';
import * as whoAskedForApprovals from './migrations/0021-who-asked-for-approvals.ts';
import * as auditEntries from './migrations/0022-audit-entries.ts';
import * as approvalCalls from './migrations/0023-approval-calls.ts';
import * as whatDecisionsKeep from './migrations/0024-what-decisions-keep.ts';
import * as rulesets from './migrations/0025-rulesets.ts';
import * as deletedRuns from './migrations/0026-deleted-runs.ts';
import * as contentRetention from './migrations/0027-content-retention.ts';
import * as erasures from './migrations/0028-erasures.ts';
import * as killedRuns from './migrations/0029-killed-runs.ts';
import * as whatWebhooksTell from './migrations/0030-what-webhooks-tell.ts';
import * as runningRuns from './migrations/0031-running-runs.ts';
import * as wouldHave from './migrations/0032-would-have.ts';
import * as exchangesAndIdPrefixes from './migrations/0033-exchanges-and-id-prefixes.ts';
import * as versionsOfLimitsAndKeys from './migrations/0034-versions-of-limits-and-keys.ts';
import * as sinceWhenWebhooksListen from './migrations/0035-since-when-webhooks-listen.ts';
import * as deletedLimits from './migrations/0036-deleted-limits.ts';
import * as deniedCalls from './migrations/0037-denied-calls.ts';
import * as pricesAndUnpricedCalls from './migrations/0038-prices-and-unpriced-calls.ts';
import * as ruleRollouts from './migrations/0039-rule-rollouts.ts';
import * as ruleMinutes from './migrations/0040-rule-minutes.ts';
import * as backtests from './migrations/0041-backtests.ts';
import * as askedAgain from './migrations/0042-asked-again.ts';
import * as activity from './migrations/0043-activity.ts';
import * as browserSessions from './migrations/0044-browser-sessions.ts';
import * as rollbacks from './migrations/0045-rollbacks.ts';
import * as savedViews from './migrations/0046-saved-views.ts';
import * as runLabels from './migrations/0047-run-labels.ts';
import * as treeLimits from './migrations/0048-tree-limits.ts';
import * as deciders from './migrations/0049-deciders.ts';
import * as breakersOfTrees from './migrations/0050-breakers-of-trees.ts';
import * as decisionPath from './migrations/0051-decision-path.ts';
import * as erasableAudit from './migrations/0052-erasable-audit.ts';
import * as equalCalls from './migrations/0053-equal-calls.ts';
import * as whatEndedARun from './migrations/0054-what-ended-a-run.ts';
import * as modelConnections from './migrations/0055-model-connections.ts';
import * as people from './migrations/0056-people.ts';
import * as provableLog from './migrations/0057-provable-log.ts';
import * as channels from './migrations/0058-channels.ts';
import * as signedAcknowledgements from './migrations/0059-signed-acknowledgements.ts';
import * as disabledConnections from './migrations/0060-disabled-connections.ts';
import * as securityAlerts from './migrations/0061-security-alerts.ts';
import * as deputies from './migrations/0062-deputies.ts';
import * as backtestsReadTriggers from './migrations/0063-backtests-read-triggers.ts';
import * as changeAlerts from './migrations/0064-change-alerts.ts';
import * as fallbackConnections from './migrations/0065-fallback-connections.ts';
import * as cosignatures from './migrations/0066-cosignatures.ts';
import * as onCall from './migrations/0067-on-call.ts';
import { withSchemaLock } from './with-schema-lock.ts';

/** Listed instead of read from a folder, so that they are type-checked and can be bundled. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-init': init,
  '0002-roles-and-grants': rolesAndGrants,
  '0003-decisions': decisions,
  '0004-runs': runs,
  '0005-audit': audit,
  '0006-agent-of-run-orders': agentOfRunOrders,
  '0007-decision-fail-mode': decisionFailMode,
  '0008-retention-indexes': retentionIndexes,
  '0009-row-types': rowTypes,
  '0010-room-in-runs': roomInRuns,
  '0011-unrounded-money': unroundedMoney,
  '0012-what-blocks': whatBlocks,
  '0013-two-ends-of-a-run': twoEndsOfARun,
  '0014-single-use-approvals': singleUseApprovals,
  '0015-what-error-rates-count': whatErrorRatesCount,
  '0016-rule-versions': ruleVersions,
  '0017-tenant-settings': tenantSettings,
  '0018-bound-keys': boundKeys,
  '0019-webhook-endpoints': webhookEndpoints,
  '0020-rearmed-rules': rearmedRules,
  '0021-who-asked-for-approvals': whoAskedForApprovals,
  '0022-audit-entries': auditEntries,
  '0023-approval-calls': approvalCalls,
  '0024-what-decisions-keep': whatDecisionsKeep,
  '0025-rulesets': rulesets,
  '0026-deleted-runs': deletedRuns,
  '0027-content-retention': contentRetention,
  '0028-erasures': erasures,
  '0029-killed-runs': killedRuns,
  '0030-what-webhooks-tell': whatWebhooksTell,
  '0031-running-runs': runningRuns,
  '0032-would-have': wouldHave,
  '0033-exchanges-and-id-prefixes': exchangesAndIdPrefixes,
  '0034-versions-of-limits-and-keys': versionsOfLimitsAndKeys,
  '0035-since-when-webhooks-listen': sinceWhenWebhooksListen,
  '0036-deleted-limits': deletedLimits,
  '0037-denied-calls': deniedCalls,
  '0038-prices-and-unpriced-calls': pricesAndUnpricedCalls,
  '0039-rule-rollouts': ruleRollouts,
  '0040-rule-minutes': ruleMinutes,
  '0041-backtests': backtests,
  '0042-asked-again': askedAgain,
  '0043-activity': activity,
  '0044-browser-sessions': browserSessions,
  '0045-rollbacks': rollbacks,
  '0046-saved-views': savedViews,
  '0047-run-labels': runLabels,
  '0048-tree-limits': treeLimits,
  '0049-deciders': deciders,
  '0050-breakers-of-trees': breakersOfTrees,
  '0051-decision-path': decisionPath,
  '0052-erasable-audit': erasableAudit,
  '0053-equal-calls': equalCalls,
  '0054-what-ended-a-run': whatEndedARun,
  '0055-model-connections': modelConnections,
  '0056-people': people,
  '0057-provable-log': provableLog,
  '0058-channels': channels,
  '0059-signed-acknowledgements': signedAcknowledgements,
  '0060-disabled-connections': disabledConnections,
  '0061-security-alerts': securityAlerts,
  '0062-deputies': deputies,
  '0063-backtests-read-triggers': backtestsReadTriggers,
  '0064-change-alerts': changeAlerts,
  '0065-fallback-connections': fallbackConnections,
  '0066-cosignatures': cosignatures,
  '0067-on-call': onCall,
};

/**
 * Migrates the schema to the current version, all or nothing, and returns the names of the applied migrations.
 * Concurrent calls are safe: one works, the others wait and find nothing to do. The login must own the database and be
 * allowed to create roles, unless they exist.
 */
export function migrate(url: string): Promise<{ applied: string[] }> {
  return withSchemaLock(url, (pool) => apply(pool));
}

/** Leaves the schema of an older release, for tests of upgrades. */
export function migrateUpTo(url: string, name: keyof typeof MIGRATIONS): Promise<{ applied: string[] }> {
  return withSchemaLock(url, (pool) => apply(pool, String(name)));
}

async function apply(pool: pg.Pool, target?: string): Promise<{ applied: string[] }> {
  // The pool outlives this Kysely; `migrate` closes it.
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  if (target === undefined && (await isNewer(pool))) return { applied: [] };
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } });
  const { error, results = [] } = await (target === undefined
    ? migrator.migrateToLatest()
    : migrator.migrateTo(target));
  const failed = results.find((result) => result.status === 'Error');
  if (error !== undefined) {
    const which = failed === undefined ? '' : ` (${failed.migrationName})`;
    throw new Error(`The database could not be migrated${which}: ${messageOf(error)}`, { cause: error });
  }
  return { applied: results.filter((result) => result.status === 'Success').map((result) => result.migrationName) };
}

/**
 * Whether a later version has migrated this schema. Then there is nothing to do: a rolled-back release starts the
 * migration of its own version again, and a later schema serves the release before it (docs/upgrading.md).
 */
async function isNewer(pool: pg.Pool): Promise<boolean> {
  const { rows: tables } = await pool.query<{ is_there: boolean }>(
    `select to_regclass('kysely_migration') is not null as is_there`,
  );
  if (tables[0]?.is_there !== true) return false;
  const { rows } = await pool.query<{ name: string }>('select name from kysely_migration order by name');
  const done = new Set(rows.map(({ name }) => name));
  const isComplete = Object.keys(MIGRATIONS).every((name) => done.has(name));
  return isComplete && rows.some(({ name }) => !(name in MIGRATIONS));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
