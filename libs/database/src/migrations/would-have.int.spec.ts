import { type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { migrate } from '../migrate.ts';
import { up } from './0032-would-have.ts';

describe('migration that separates effects from shadow effects', () => {
  let database: FreshDatabase;
  let pool: pg.Pool;

  beforeEach(async () => {
    database = await freshDatabase({ migrate });
    pool = new pg.Pool({ connectionString: database.url, max: 1 });
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  it('treats the effect of allowed calls as that of shadow rules and leaves others unchanged', async () => {
    await pool.query('drop index decisions_notable; alter table decisions drop column would_have');
    await pool.query(
      "create index decisions_blocked on decisions (tenant_id, decided_at desc) where effect <> 'allow'",
    );
    for (const [verdict, effect] of [
      ['ALLOW', 'allow'],
      ['ALLOW', 'modify'],
      ['ALLOW', 'block'],
      ['BLOCK', 'block'],
      ['BLOCK', 'ask'],
    ]) {
      await pool.query(
        `insert into decisions (tenant_id, decision_id, run_id, agent_id, phase, verdict, control, effect, cause, message,
           evaluated_rules, bypasses, inputs_digest, latency_ms, decided_at)
         values ('acme', $1 || ' ' || $2, 'run', 'agent', 'tool.before', $1, 'CONTINUE', $2, '{}', '', '[]', '[]', 'x', 1, now())`,
        [verdict, effect],
      );
    }
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
    await db.transaction().execute(up);
    const { rows } = await pool.query('select decision_id as id, effect, would_have from decisions order by 1');
    expect(rows).toEqual([
      { id: 'ALLOW allow', effect: 'allow', would_have: null },
      { id: 'ALLOW block', effect: 'allow', would_have: 'block' },
      { id: 'ALLOW modify', effect: 'modify', would_have: null },
      { id: 'BLOCK ask', effect: 'ask', would_have: null },
      { id: 'BLOCK block', effect: 'block', would_have: null },
    ]);
  });
});
