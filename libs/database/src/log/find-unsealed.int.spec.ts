import { type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { Database } from '../database.ts';
import { migrate } from '../migrate.ts';
import { openDatabase } from '../open-database.ts';
import { FACTS_AT_ONCE, findUnsealed, FIRST_FACT, unsealedFacts } from './find-unsealed.ts';

const TENANT = 'acme';
const FACTS = 3 * FACTS_AT_ONCE;

/** A log with many facts, of which one has no entry. */
const FILL = `
  insert into decisions (tenant_id, decision_id, run_id, agent_id, phase, verdict, control, effect, cause, message,
    evaluated_rules, bypasses, inputs_digest, latency_ms, decided_at)
  select t, 'd' || lpad(n::text, 8, '0'), 'r', 'a', 'tool.before', 'ALLOW', 'CONTINUE', 'allow', '{}', '', '[]', '[]', '', 1,
    '2026-03-01T12:00:00Z' from generate_series(1, ${FACTS}) as n, unnest(array['${TENANT}', 'other']) as t;
  insert into log_leaves (tenant_id, index, kind, entry_id, leaf)
  select tenant_id, row_number() over (partition by tenant_id order by decision_id) - 1, 'decision', decision_id, '{}'
    from decisions where decision_id <> 'd00009000';
  insert into log_checkpoints (tenant_id, size, root, note, at)
  select '${TENANT}', n, '', '', '2026-03-01T11:00:00Z' from generate_series(1, 5000) as n;
  analyze`;

describe('the search for facts without an entry', () => {
  let fresh: FreshDatabase;
  let database: Database;
  let owner: pg.Client;
  beforeAll(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
    owner = new pg.Client({ connectionString: fresh.url });
    await owner.connect();
    await owner.query(FILL);
  });
  afterAll(async () => {
    await database.close();
    await owner.end();
    await fresh.drop();
  });

  it('reads a bounded number of facts at a time, and finds the one that has none', async () => {
    const found: unknown[] = [];
    const steps: string[] = [];
    for (let next: string | undefined = FIRST_FACT; next !== undefined; ) {
      steps.push(next);
      const part = await findUnsealed(database.db, TENANT, next);
      found.push(...part.findings);
      next = part.next;
    }
    expect(found).toEqual([{ problem: 'unsealed', kind: 'decision', id: 'd00009000' }]);
    expect(steps).toEqual([
      'decision:',
      ...[1, 2, 3].map((part) => `decision:d${String(part * FACTS_AT_ONCE).padStart(8, '0')}`),
      'change:',
    ]);
  });

  it.each(['decision', 'change'] as const)('reads no whole table for facts of kind %s', async (kind) => {
    const { sql, parameters } = unsealedFacts(TENANT, kind, 'd00004096').compile(database.db);
    const { rows } = await owner.query(`explain (format json) ${sql}`, [...parameters]);
    const scans = listScans(rows[0]['QUERY PLAN'][0].Plan);
    expect(scans.filter(({ type }) => type === 'Seq Scan')).toEqual(
      // Empty here, as it is whenever sealing keeps up.
      scans.filter(({ type, table }) => type === 'Seq Scan' && (table === 'log_pending' || table === 'audit_entries')),
    );
    if (kind === 'decision') {
      expect(scans).toContainEqual(expect.objectContaining({ table: 'decisions', index: 'decisions_pkey' }));
      expect(scans).toContainEqual(
        expect.objectContaining({ table: 'log_leaves', index: 'log_leaves_tenant_id_kind_entry_id_key' }),
      );
    }
  });
});

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Every scan of a table in a plan, with its index. */
function listScans(node: PlanNode): { readonly type: string; readonly table: string; readonly index?: string }[] {
  const below = (node.Plans ?? []).flatMap(listScans);
  const table = node['Relation Name'];
  if (table === undefined) return below;
  return [{ type: node['Node Type'], table, ...(node['Index Name'] && { index: node['Index Name'] }) }, ...below];
}
