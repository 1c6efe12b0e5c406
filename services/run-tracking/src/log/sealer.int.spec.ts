import type { Decision } from '@agentlens/contracts';
import {
  checkLog,
  type Database,
  type LogCheckPosition,
  type LogFinding,
  migrate,
  openDatabase,
  recordChanges,
} from '@agentlens/database';
import { openSigner, writeVerifierKey } from '@agentlens/log';
import { openCheckpoint, readVerifierKey } from '@agentlens/log-verify';
import { AesSecretBox, createLogger } from '@agentlens/platform';
import { type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { aDecision } from '../decisions/decision.testing.ts';
import { DecisionStore } from '../decisions/decision-store.ts';
import { DeletedRuns } from '../removal/deleted-runs.repository.ts';
import { Erasures } from '../removal/erasures.repository.ts';
import { LogChecker } from './log-checker.ts';
import { Sealer } from './sealer.ts';
import { SealingStore } from './sealing-store.ts';
import { openSigningKey } from './signing-key.ts';

const SECRET = Buffer.alloc(32, 5);
const SIGNER = openSigner(SECRET);
const NOON = Date.parse('2026-03-01T12:00:00.000Z');
const TENANT = 'acme';

let fresh: FreshDatabase;
let database: Database;
let owner: pg.Client;
let nowMs: number;

beforeEach(async () => {
  fresh = await freshDatabase({ migrate });
  database = openDatabase({ url: fresh.url, role: 'run-tracking' });
  owner = new pg.Client({ connectionString: fresh.url });
  await owner.connect();
  nowMs = NOON;
});
afterEach(async () => {
  await database.close();
  await owner.end();
  await fresh.drop();
});

const makeStore = (instance = 'a') => new SealingStore({ database, signer: SIGNER, origin: 'test', instance });

const decisions = (count: number, fields: Partial<Decision> = {}) =>
  Array.from({ length: count }, (_, n) =>
    aDecision({ id: `d${String(n).padStart(5, '0')}`, runId: `run-${n % 3}`, arguments: { amount: n }, ...fields }),
  );

const record = (all: readonly Decision[]) => new DecisionStore(database.pool).record(all);

/** Seals until nothing is pending. */
async function sealAll(store = makeStore()): Promise<string[]> {
  await owner.query(`insert into log_keys (public_key, sealed) values ($1, '') on conflict do nothing`, [
    SIGNER.publicKey,
  ]);
  await store.openLogs();
  const results: string[] = [];
  for (;;) {
    const { result } = await store.sealSome(nowMs);
    results.push(result);
    if (result !== 'sealed') return results;
    nowMs += 1;
  }
}

/** Checks the whole log, part by part. */
async function check(): Promise<{ size: number; checked: number; erased: number; findings: LogFinding[] }> {
  const all = { size: 0, checked: 0, erased: 0, findings: [] as LogFinding[] };
  for (let position: LogCheckPosition | undefined = { from: 0 }; position !== undefined; ) {
    const part = await checkLog(database.db, TENANT, position);
    all.size = part.size;
    all.checked += part.checked;
    all.erased += part.erased;
    all.findings.push(...part.findings);
    position = part.next;
  }
  return all;
}

const indices = async () => {
  const rows = await database.db.selectFrom('log_leaves').select(['index', 'entry_id']).orderBy('index').execute();
  return rows.map(({ index }) => index);
};

describe('the sealer', () => {
  it('asks the database once while there is nothing to seal', async () => {
    const asked: string[] = [];
    const db = database.db.withPlugin({
      transformQuery: ({ node }) => {
        asked.push(node.kind);
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const logger = createLogger({ name: 'test', level: 'silent' });
    const secrets = new AesSecretBox([Buffer.alloc(32, 1).toString('base64')]);
    const sealer = new Sealer({ database: { ...database, db }, secrets, logger, clock: { now: () => nowMs } });
    await record(decisions(3));
    await sealer.seal();
    expect((await check()).size).toBe(3);
    asked.length = 0;
    await sealer.seal();
    expect(asked).toHaveLength(1);
  });

  it('seals each decision once, with dense positions and a signed checkpoint', async () => {
    await record(decisions(600));
    await record(decisions(600));
    await sealAll();

    expect(await indices()).toEqual(Array.from({ length: 600 }, (_, n) => n));
    expect(await check()).toEqual({ size: 600, checked: 600, erased: 0, findings: [] });
    const { note } = await database.db.selectFrom('log_checkpoints').selectAll().executeTakeFirstOrThrow();
    const { log_id } = await database.db.selectFrom('log_heads').selectAll().executeTakeFirstOrThrow();
    const key = readVerifierKey(writeVerifierKey(`test/log/${log_id}`, SIGNER.publicKey));
    expect(openCheckpoint(note, [key])).toMatchObject({ size: 600, signedBy: [`test/log/${log_id}`] });
  });

  it('puts no id of a run, agent or person into a leaf', async () => {
    await record(decisions(3, { runId: 'ann@example.com', agentId: 'agent-of-ann' }));
    await sealAll();

    const rows = await database.db.selectFrom('log_leaves').select('leaf').execute();
    expect(rows.map(({ leaf }) => /ann/.test(leaf))).toEqual([false, false, false]);
    expect(Object.keys(JSON.parse(rows[0]?.leaf ?? '{}') as object)).toEqual([
      'at',
      'digest',
      'id',
      'kind',
      'v',
      'writer',
    ]);
  });

  it('numbers the entries of each run', async () => {
    await record(decisions(4, { runId: 'r' }));
    await sealAll();
    await record([aDecision({ id: 'later', runId: 'r' })]);
    await sealAll();

    const rows = await database.db.selectFrom('log_payloads').select('run_entry').orderBy('index').execute();
    expect(rows.map(({ run_entry }) => run_entry)).toEqual([1, 2, 3, 4, 5]);
  });

  it('seals changes, approvals, orders and acknowledgements', async () => {
    await recordChanges(openDatabaseAs('query').db, [
      {
        tenantId: TENANT,
        at: '2026-03-01T12:00:00.000Z',
        kind: 'budget.changed',
        targetId: 'b',
        after: { limitUsd: 5 },
      },
    ]);
    await owner.query(`
      insert into alerts (tenant_id, alert_id, kind, status, severity, title, message, agent_id, run_id, created_at, version)
      values ('acme', 'al', 'approval', 'pending', 'warn', 'secret title', 'secret text', 'agent', 'r', now(), 1);
      update alerts set status = 'approved', decided_at = now(), decided_by = 'k1';
      insert into control_orders (tenant_id, scope, scope_id, order_id, agent_id, state, reason, ordered_by, version, issued_at)
        values ('acme', 'run', 'r', 'o1', 'agent', 'killed', 'enough', 'k1', 1, now());
      insert into control_acknowledgements (tenant_id, directive_id, instance_id, agent_id, acknowledged_at)
        values ('acme', 'o1', 'i1', 'agent', now())`);
    await sealAll();

    const rows = await database.db.selectFrom('log_payloads').select(['kind', 'body']).orderBy('kind').execute();
    expect(rows.map(({ kind }) => kind)).toEqual(['ack', 'approval', 'approval', 'change', 'control']);
    expect(rows.map(({ body }) => body ?? '').join('')).not.toContain('secret');
    expect((await check()).findings).toEqual([]);
  });

  it('does not fork with many sealers and writers', async () => {
    const writers = Array.from({ length: 10 }, (_, writer) =>
      record(decisions(60).map((decision) => ({ ...decision, id: `${writer}-${decision.id}` }))),
    );
    const sealers = Array.from({ length: 4 }, async (_, n) => {
      const store = makeStore(`s${n}`);
      for (let round = 0; round < 20; round++) {
        await store.openLogs();
        await store.sealSome(nowMs);
      }
    });
    await Promise.all([...writers, ...sealers]);
    await sealAll();

    expect(await indices()).toEqual(Array.from({ length: 600 }, (_, n) => n));
    expect((await check()).findings).toEqual([]);
  });

  it('seals everything once after a process died before it committed', async () => {
    await record(decisions(300));
    await owner.query(`
      create function die() returns trigger language plpgsql as $$ begin raise exception 'died'; end $$;
      create trigger die before update on log_heads for each row execute function die()`);
    await expect(sealAll()).rejects.toThrow('died');
    expect(await indices()).toEqual([]);

    await owner.query('drop trigger die on log_heads');
    await sealAll();
    expect(await check()).toMatchObject({ size: 300, findings: [] });
  });

  it('loses no checkpoint when the clock jumps', async () => {
    const store = makeStore();
    for (const [n, jump] of [0, 3_600_000, -3_600_000, -7_200_000].entries()) {
      nowMs = NOON + jump;
      await record([aDecision({ id: `d${n}` })]);
      await sealAll(store);
    }

    const sizes = await database.db.selectFrom('log_checkpoints').select('size').orderBy('size').execute();
    expect(sizes.map(({ size }) => size)).toEqual([1, 2, 3, 4]);
    expect((await check()).findings).toEqual([]);
  });

  it('stops, and repairs nothing, when the database was put back', async () => {
    const store = makeStore();
    await record(decisions(2));
    await sealAll(store);
    const before = await owner.query('select size, frontier from log_heads');
    await record(decisions(5));
    nowMs += 2_000;
    await sealAll(store);
    await owner.query('update log_heads set size = $1, frontier = $2, checkpoint_size = 0', [
      before.rows[0].size,
      before.rows[0].frontier,
    ]);

    await record([aDecision({ id: 'after' })]);
    expect(await sealAll(store)).toEqual(['broken']);
    const head = await database.db.selectFrom('log_heads').selectAll().executeTakeFirstOrThrow();
    expect(head).toMatchObject({ size: 2, broken: 'rolled back: the log had 5 entries and has 2' });
    // Recording goes on.
    expect(await record([aDecision({ id: 'still' })])).toBe(1);
  });

  it('stops when a signed checkpoint is ahead of the log, also in a new process', async () => {
    await record(decisions(5));
    await sealAll();
    await owner.query(`update log_heads set size = 0, frontier = '', checkpoint_size = 0`);
    await record([aDecision({ id: 'after' })]);

    expect(await sealAll(makeStore('new'))).toEqual(['broken']);
    const head = await database.db.selectFrom('log_heads').selectAll().executeTakeFirstOrThrow();
    expect(head.broken).toBe('rolled back: a checkpoint of 5 entries is signed and the log has 0');
  });

  it('seals the other logs while one cannot be sealed', async () => {
    await owner.query(`
      create function refuse_leaf() returns trigger language plpgsql as $$ begin raise exception 'no room'; end $$;
      create trigger refuse_leaf before insert on log_leaves for each row when (new.tenant_id = 'acme')
        execute function refuse_leaf()`);
    await record(decisions(2));
    await makeStore().openLogs();
    await record([aDecision({ id: 'other', tenantId: 'beta' })]);
    const secrets = new AesSecretBox([Buffer.alloc(32, 1).toString('base64')]);
    const logger = createLogger({ name: 'run-tracking', level: 'silent' });
    const sealer = new Sealer({ database, secrets, logger, clock: { now: () => nowMs } });
    expect(await sealer.seal()).toBe(500);
    const sizes = () =>
      database.db.selectFrom('log_heads').select(['tenant_id', 'size']).orderBy('tenant_id').execute();
    expect(await sizes()).toEqual([
      { tenant_id: 'acme', size: 0 },
      { tenant_id: 'beta', size: 1 },
    ]);
    await owner.query('drop trigger refuse_leaf on log_leaves');
    nowMs += 5_001;
    await sealer.seal();
    expect(await sizes()).toMatchObject([{ size: 2 }, { size: 1 }]);
  });

  it('keeps its key sealed, and all replicas use the same', async () => {
    const secrets = new AesSecretBox([Buffer.alloc(32, 1).toString('base64')]);
    const [one, other] = await Promise.all([openSigningKey(database, secrets), openSigningKey(database, secrets)]);
    expect(one.publicKey).toEqual(other.publicKey);
    const stored = await database.db.selectFrom('log_keys').select('sealed').executeTakeFirstOrThrow();
    expect(secrets.isSealed(stored.sealed)).toBe(true);
  });

  it('seals in the background', async () => {
    const secrets = new AesSecretBox([Buffer.alloc(32, 1).toString('base64')]);
    const logger = createLogger({ name: 'run-tracking', level: 'silent' });
    await record(decisions(3));
    const sealer = new Sealer({ database, secrets, logger, clock: { now: () => NOON } });
    expect(await sealer.seal()).toBe(500);
    expect((await check()).size).toBe(3);
  });
});

/** What an owner of the database can do to the rows, and what the check then says first. */
const TAMPERINGS: Readonly<Record<string, readonly [string, Partial<LogFinding>]>> = {
  'a decision turned round': [
    `update decisions set verdict = 'ALLOW' where decision_id = 'd00007'`,
    { problem: 'payload_differs', index: 7, kind: 'decision', id: 'd00007' },
  ],
  'other arguments': [
    `update decisions set arguments = '{"amount":1}' where decision_id = 'd00007'`,
    { problem: 'payload_differs', index: 7 },
  ],
  'a decision moved to another run': [
    `update decisions set run_id = 'other' where decision_id = 'd00007'`,
    { problem: 'payload_differs', index: 7 },
  ],
  'a decision deleted': [
    `delete from decisions where decision_id = 'd00300'`,
    { problem: 'payload_missing', index: 300 },
  ],
  'a decision inserted': [
    `insert into decisions select (jsonb_populate_record(d, '{"decision_id":"forged","decided_at":"2026-03-01T12:00:01Z"}')).*
     from decisions d where decision_id = 'd00001'`,
    { problem: 'unsealed', kind: 'decision', id: 'forged' },
  ],
  'a leaf changed with its decision': [
    `update log_leaves set leaf = replace(leaf, '"kind":"decision"', '"kind":"change"') where index = 3`,
    { problem: 'leaf_differs', index: 3 },
  ],
  'a leaf deleted': ['delete from log_leaves where index = 9', { problem: 'leaf_missing', index: 9 }],
  'two leaves exchanged': [
    `alter table log_leaves drop constraint log_leaves_pkey;
     update log_leaves set index = 11 - index where index in (5, 6)`,
    { problem: 'payload_differs', index: 5 },
  ],
  'a leaf appended past the head': [
    `insert into log_leaves values ('acme', 600, 'decision', 'x', '{}')`,
    { problem: 'head_differs', index: 600 },
  ],
  'a payload deleted': ['delete from log_payloads where index = 2', { problem: 'payload_missing', index: 2 }],
  'a tile changed': [
    `update log_tiles set hashes = set_byte(hashes, 33, 1 - sign(get_byte(hashes, 33))::int) where n = 1`,
    { problem: 'tile_differs', index: 257 },
  ],
  'the log cut': [
    `delete from log_leaves where index >= 550; delete from log_payloads where index >= 550;
     delete from decisions where decision_id >= 'd00550'; update log_heads set size = 550`,
    { problem: 'head_differs', index: 550 },
  ],
  'a checkpoint with another root': [
    `update log_checkpoints set root = sha256('x')`,
    { problem: 'checkpoint_differs', index: 600 },
  ],
  'a note that says another size': [
    `update log_checkpoints set note = replace(note, E'\\n600\\n', E'\\n601\\n')`,
    { problem: 'signature_differs', index: 600 },
  ],
  'a leaf that is no JSON': [`update log_leaves set leaf = 'x' where index = 4`, { problem: 'leaf_differs', index: 4 }],
};

describe('the check of the log', () => {
  it.each(Object.entries(TAMPERINGS))('names %s', async (_, [statement, finding]) => {
    await record(decisions(600));
    await sealAll();
    expect((await check()).findings).toEqual([]);

    await owner.query(statement);
    expect((await check()).findings[0]).toMatchObject(finding);
  });

  it('finds a change of the audit log', async () => {
    await recordChanges(openDatabaseAs('query').db, [
      {
        tenantId: TENANT,
        at: '2026-03-01T12:00:00.000Z',
        kind: 'budget.changed',
        targetId: 'b',
        after: { limitUsd: 5 },
      },
    ]);
    await sealAll();
    expect((await check()).findings).toEqual([]);
    await owner.query('alter table audit_entries disable trigger all');
    await owner.query(`update audit_entries set after = '{"limitUsd":500}'`);
    expect((await check()).findings).toMatchObject([{ problem: 'payload_differs', index: 0, kind: 'change' }]);
  });

  it('does not let the sealer change or remove a leaf', async () => {
    await record(decisions(1));
    await sealAll();
    await expect(sql`update log_leaves set leaf = ''`.execute(database.db)).rejects.toThrow('permission denied');
    await expect(sql`delete from log_leaves`.execute(database.db)).rejects.toThrow('permission denied');
    await expect(sql`delete from log_checkpoints`.execute(database.db)).rejects.toThrow('permission denied');
  });
});

describe('the checker in the background', () => {
  it('goes through all logs, again and again, and counts those that differ', async () => {
    await record(decisions(600));
    await record([aDecision({ id: 'other', tenantId: 'beta' })]);
    await sealAll();
    const lines: string[] = [];
    const logger = createLogger({ name: 'run-tracking', level: 'silent' });
    const error = (fields: object) => void lines.push(JSON.stringify(fields));
    const checker = new LogChecker({ database, logger: Object.assign(Object.create(logger), { error }) });
    const checkAll = async () => {
      for (let part = 0; part < 6; part++) await checker.check();
    };
    await checkAll();
    expect({ differing: checker.differing, lines }).toEqual({ differing: 0, lines: [] });

    await owner.query(`update decisions set verdict = 'ALLOW' where decision_id = 'd00007'`);
    await checkAll();
    expect(checker.differing).toBe(1);
    expect(lines[0]).toContain('"problem":"payload_differs","index":7');

    await owner.query(`update decisions set verdict = 'BLOCK' where decision_id = 'd00007'`);
    await checkAll();
    await checkAll();
    expect(checker.differing).toBe(0);
  });

  it('checks the other logs although one cannot be checked', async () => {
    await record([...decisions(3), ...decisions(3, { tenantId: 'globex' })]);
    await sealAll();
    const checked = new Set<string>();
    const checker = new LogChecker({
      ...{ database, logger: createLogger({ name: 'run-tracking', level: 'silent' }) },
      async check(_, tenantId) {
        checked.add(tenantId);
        if (tenantId === TENANT) throw new Error('cannot be read');
        return { size: 0, checked: 0, erased: 0, findings: [] };
      },
    });
    for (let round = 0; round < 4; round++) await checker.check();
    expect([...checked]).toEqual([TENANT, 'globex']);
  });
});

describe('removed decisions', () => {
  it('leave provable entries behind when their retention ends', async () => {
    await record(decisions(300));
    await record([aDecision({ id: 'new', decidedAt: '2026-03-20T12:00:00.000Z' })]);
    await sealAll();
    const note = await database.db.selectFrom('log_checkpoints').select('root').executeTakeFirstOrThrow();

    expect(await new DecisionStore(database.pool).dropBefore('2026-03-10T00:00:00.000Z')).toMatchObject({
      dropped: 300,
    });
    nowMs += 2_000;
    await sealAll();

    expect(await check()).toEqual({ size: 302, checked: 302, erased: 300, findings: [] });
    const bodies = await database.db
      .selectFrom('log_payloads')
      .select('body')
      .where('kind', '=', 'retention')
      .execute();
    expect(JSON.parse(bodies[0]?.body ?? '')).toEqual({
      retention: { entries: 300, ranges: [[0, 299]], removed: 'payload' },
    });
    // What was signed before is still the start of the log.
    const roots = await database.db.selectFrom('log_checkpoints').select('root').orderBy('size').execute();
    expect(roots[0]).toEqual(note);
  });

  it('leave nothing of a deleted run but leaves without its ids', async () => {
    await record(decisions(6));
    await owner.query(`
      insert into alerts (tenant_id, alert_id, kind, status, severity, title, message, agent_id, run_id, created_at, version)
      values ('acme', 'al', 'approval', 'pending', 'warn', 't', 'm', 'agent-of-ann', 'ann', now(), 1)`);
    await record([aDecision({ id: 'd9', runId: 'ann', agentId: 'agent-of-ann', arguments: { to: 'ann' } })]);
    await sealAll();
    const runs = new DeletedRuns(database);
    await runs.mark({ tenantId: TENANT, runId: 'ann' });
    await runs.removeSome({ tenantId: TENANT, runId: 'ann', deletedAt: '2026-03-01T12:00:00.000Z' });
    await sealAll();

    expect(await check()).toMatchObject({ erased: 2, findings: [] });
    const tables = ['log_leaves', 'log_payloads', 'log_runs', 'log_pending', 'decisions'];
    for (const table of tables) {
      const { rows } = await owner.query(`select t::text from ${table} t where t::text like '%ann%'`);
      expect({ table, left: rows }).toEqual({ table, left: [] });
    }
  });

  it('keep the rest of a decision provable when the arguments of an actor are erased', async () => {
    await record(decisions(3, { runId: 'r' }));
    await sealAll();
    const erasures = new Erasures(database);
    const { erasure_id: id } = await erasures.begin({ tenantId: TENANT, actorId: 'ann' });
    await erasures.eraseSome({ tenantId: TENANT, id, actorId: 'ann' }, ['r']);
    await sealAll();

    const left = await database.db.selectFrom('decisions').select('arguments').execute();
    expect(left.map((row) => row.arguments)).toEqual([null, null, null]);
    expect(await check()).toMatchObject({ erased: 0, findings: [] });
    await owner.query(`update decisions set verdict = 'ALLOW' where decision_id = 'd00001'`);
    expect((await check()).findings).toMatchObject([{ problem: 'payload_differs', id: 'd00001' }]);
  });
});

const opened: Database[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

function openDatabaseAs(role: 'query'): Database {
  const one = openDatabase({ url: fresh.url, role });
  opened.push(one);
  return one;
}
