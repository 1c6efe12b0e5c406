import { type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { migrate } from '../migrate.ts';
import { up } from './0016-rule-versions.ts';

const RULE = {
  ...{ tenant_id: 'acme', rule_id: 'r1', version: 7, name: 'Errors', enabled: true },
  ...{ condition_type: 'error_rate_threshold', condition_config: { threshold: 30, nothing: null } },
  ...{ action_type: 'pause_agent', action_config: {}, cooldown_minutes: 15, dry_run: false, direction: 'both' },
  ...{ priority: 0, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-02-01T10:00:00.5Z' },
};

describe('migration to rule versions', () => {
  let database: FreshDatabase;
  let owner: pg.Client;

  beforeEach(async () => {
    database = await freshDatabase({ migrate });
    owner = new pg.Client({ connectionString: database.url });
    await owner.connect();
  });
  afterEach(async () => {
    await owner.end();
    await database.drop();
  });

  async function insert(rule: Record<string, unknown>) {
    const columns = Object.keys(rule);
    const values = Object.values(rule).map((value) => (typeof value === 'object' ? JSON.stringify(value) : value));
    const places = columns.map((_, at) => `$${at + 1}`);
    await owner.query(`insert into guardrail_rules (${columns.join()}) values (${places.join()})`, values);
  }

  it('creates the current version of existing rules', async () => {
    await owner.query('drop table rule_versions');
    await insert(RULE);
    await insert({ ...RULE, rule_id: 'gone', deleted_at: '2026-02-02T00:00:00Z' });
    const pool = new pg.Pool({ connectionString: database.url, max: 1 });
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
    await db.transaction().execute(up);
    await db.destroy();
    const { rows } = await owner.query('select rule_id, version, body, changes, changed_by from rule_versions');
    expect(rows).toEqual([
      {
        ...{ rule_id: 'r1', version: 7, changes: [], changed_by: null },
        body: {
          ...{ id: 'r1', tenantId: 'acme', version: 7, name: 'Errors', enabled: true, priority: 0, dryRun: false },
          ...{ conditionType: 'error_rate_threshold', conditionConfig: { threshold: 30, nothing: null } },
          ...{ actionType: 'pause_agent', actionConfig: {}, cooldownMinutes: 15, direction: 'both' },
          ...{ mode: 'enforce', onMissing: 'allow', onUnavailable: 'allow' },
          ...{ createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-02-01T10:00:00.500Z' },
        },
      },
    ]);
  });

  it('makes versions immutable', async () => {
    await insert(RULE);
    await owner.query('begin');
    await owner.query('set local role agentlens_guardrail_evaluator');
    await expect(owner.query(`update rule_versions set reason = 'x'`)).rejects.toMatchObject({ code: '42501' });
    await owner.query('rollback');
    await owner.query('begin');
    await owner.query('set local role agentlens_guardrail_evaluator');
    await expect(owner.query('delete from rule_versions')).rejects.toMatchObject({ code: '42501' });
    await owner.query('rollback');
  });
});
