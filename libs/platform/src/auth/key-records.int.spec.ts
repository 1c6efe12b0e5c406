import { type Database, migrate, openDatabase } from '@agentlens/database';
import { freshDatabase } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { readKeyRecords } from './key-records.ts';

const AT = '2026-03-01T12:00:00.000Z';

describe('key records for a gateway', () => {
  let gateway: Database;
  let owners: { readonly query: Database; readonly evaluator: Database };
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const database = await freshDatabase({ migrate });
    drop = () => database.drop();
    const open = (role: 'ingest' | 'query' | 'guardrail-evaluator') =>
      openDatabase({ url: database.url, role, applicationName: 'test', onIdleError: () => undefined });
    gateway = open('ingest');
    owners = { query: open('query'), evaluator: open('guardrail-evaluator') };
    for (const tenant of ['acme', 'globex']) {
      await sql`insert into tenants (id, name, created_at) values (${tenant}, ${tenant}, ${AT})`.execute(
        owners.query.db,
      );
      await sql`
        insert into api_keys (tenant_id, key_id, name, secret_hash, scopes, created_at)
        values (${tenant}, ${`${tenant}-key`}, 'key', '\\x00', '{decide}', ${AT})
      `.execute(owners.query.db);
    }
  });
  afterAll(async () => {
    for (const database of [gateway, owners.query, owners.evaluator]) await database.close();
    await drop();
  });

  async function failModes(): Promise<unknown[]> {
    const ids = ['acme-key', 'globex-key'];
    const records = await readKeyRecords(gateway, ids);
    return ids.map((id) => records.find(({ keyId }) => keyId === id)?.decisionFailMode);
  }

  function addRule(id: string, onUnavailable: string, fields: { mode?: string; enabled?: boolean } = {}) {
    const { mode = 'enforce', enabled = true } = fields;
    return sql`
      insert into guardrail_rules (
        tenant_id, rule_id, version, name, enabled, condition_type, condition_config, action_type, action_config,
        cooldown_minutes, dry_run, direction, priority, created_at, updated_at, mode, on_unavailable
      ) values (
        'acme', ${id}, 1, 'rule', ${enabled}, 'tool_name', '{}', 'block', '{}',
        0, false, 'both', 0, ${AT}, ${AT}, ${mode}, ${onUnavailable}
      )
    `.execute(owners.evaluator.db);
  }

  function addBudget(id: string, enabled: boolean) {
    return sql`
      insert into budgets (
        tenant_id, budget_id, name, scope, period, limit_usd, enabled, on_unavailable, version, created_at, updated_at
      ) values ('globex', ${id}, 'budget', 'tenant', 'day', 1, ${enabled}, 'block', 1, ${AT}, ${AT})
    `.execute(owners.evaluator.db);
  }

  it('set the fail mode to block if an active rule or budget blocks when it cannot be evaluated', async () => {
    await addRule('lets-pass', 'allow');
    await addRule('shadow', 'block', { mode: 'shadow' });
    await addRule('disabled', 'block', { enabled: false });
    await addBudget('disabled', false);
    expect(await failModes()).toEqual(['allow', 'allow']);
    await addRule('blocks', 'block');
    expect(await failModes()).toEqual(['block', 'allow']);
    await addBudget('blocks', true);
    expect(await failModes()).toEqual(['block', 'block']);
    await sql`update guardrail_rules set deleted_at = ${AT} where rule_id = 'blocks'`.execute(owners.evaluator.db);
    expect(await failModes()).toEqual(['allow', 'block']);
  });

  it('reveal nothing else about rules and budgets to a gateway', async () => {
    const reading = (column: string) => sql.raw(`select ${column} from guardrail_rules`).execute(gateway.db);
    await expect(reading('condition_config')).rejects.toThrow('permission denied');
    await expect(sql`select limit_usd from budgets`.execute(gateway.db)).rejects.toThrow('permission denied');
  });
});
