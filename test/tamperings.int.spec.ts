import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSigner } from '@agentlens/log';
import { eventually } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { checkOffline, KEPT, killAtOnce, LogTemplate, type LogWorld, padded, SIZE } from './tamperings-world.ts';

interface Tampering {
  /** What happens to the database. */
  readonly to: string | ((world: LogWorld) => Promise<void>);
  /** What a forger makes of the evidence; default: the platform serves what it has now. */
  readonly evidence?: (served: string, world: LogWorld) => string | Promise<string>;
  /** Size of the checkpoint that the readers kept, if they need one to find this. */
  readonly kept?: number;
  readonly keptByOperator?: number;
  readonly offline: { readonly status: string; readonly problem: RegExp };
  readonly verify: RegExp;
}

/** The second entry of the run, and one later. */
const [SECOND, THIRD] = [4, 7];
const change = (served: string, edit: (bundle: { entries: Record<string, unknown>[] }) => void): string => {
  const bundle = JSON.parse(served) as { entries: Record<string, unknown>[] };
  edit(bundle);
  return JSON.stringify(bundle);
};
/** Puts the tables back to their state at the first checkpoint, as restoring a backup does. */
const RESTORE = `
  delete from log_leaves where index >= ${KEPT}; delete from log_payloads where index >= ${KEPT};
  delete from log_checkpoints where size > ${KEPT}; delete from decisions where decision_id >= '${padded(KEPT)}';
  delete from log_tiles where n > 0;
  update log_heads set size = ${KEPT}, checkpoint_size = ${KEPT}, frontier = (select frontier from kept_head);
  update log_runs set entries = ${KEPT / 3}`;
const NOT_THE_ROOT = /do not lead to the root/;

const TAMPERINGS: Readonly<Record<string, Tampering>> = {
  'a changed row': {
    to: `update decisions set verdict = 'ALLOW' where decision_id = '${padded(SECOND)}'`,
    offline: { status: 'altered', problem: /payload was changed/ },
    verify: /entry 4: payload_differs/,
  },
  'changed arguments': {
    to: `update decisions set arguments = '{"amount":1}' where decision_id = '${padded(SECOND)}'`,
    offline: { status: 'altered', problem: /member arguments was changed/ },
    verify: /entry 4: payload_differs/,
  },
  'a deleted row': {
    to: `delete from decisions where decision_id = '${padded(SECOND)}'`,
    offline: { status: 'incomplete', problem: /content is missing, and no erasure or retention names it/ },
    verify: /entry 4: payload_missing/,
  },
  'a row deleted with its entry': {
    to: `delete from decisions where decision_id = '${padded(SECOND)}';
      delete from log_payloads where index = ${SECOND}; delete from log_leaves where index = ${SECOND}`,
    offline: { status: 'incomplete', problem: /left out: number 2/ },
    verify: /entry 4: leaf_missing/,
  },
  'an inserted row': {
    to: `insert into decisions select (jsonb_populate_record(d, '{"decision_id":"forged"}')).*
      from decisions d where decision_id = '${padded(SECOND)}';
      update decisions set decided_at = '2026-03-01T12:10:00Z' where decision_id = 'forged'`,
    evidence: (served) => change(served, ({ entries }) => entries.push({ ...entries.at(-1), index: SIZE - 1 })),
    offline: { status: 'altered', problem: NOT_THE_ROOT },
    verify: /decision forged: unsealed/,
  },
  'reordered leaves': {
    to: `alter table log_leaves drop constraint log_leaves_pkey;
      update log_leaves set index = ${SECOND + THIRD} - index where index in (${SECOND}, ${THIRD})`,
    offline: { status: 'altered', problem: /payload was changed/ },
    verify: /entry 4: payload_differs/,
  },
  'a leaf with another time': {
    to: `update log_leaves set leaf = replace(leaf, '2026-03-01', '2026-03-02') where index = ${SECOND}`,
    offline: { status: 'altered', problem: NOT_THE_ROOT },
    verify: /entry 4: tile_differs/,
  },
  'a changed salt': {
    to: `update log_payloads set salt = '\\x00000000000000000000000000000000' where index = ${SECOND}`,
    offline: { status: 'altered', problem: /payload was changed/ },
    verify: /entry 4: payload_differs/,
  },
  'a swapped signature': {
    to: async (world) => {
      const [, , , , line = ''] = (await world.noteOf(KEPT)).split('\n');
      await world.owner.query(
        `update log_checkpoints set note = split_part(note, E'\\n\\n', 1) || E'\\n\\n' || $1 || E'\\n'
        where size = ${SIZE}`,
        [line],
      );
    },
    offline: { status: 'altered', problem: /signature of .* does not match/ },
    verify: /entry 520: signature_differs/,
  },
  'a checkpoint that another sealer signed': {
    to: async (world) => {
      await world.recordMore(SIZE, 3);
      await world.seal([], world.makeStore('other', openSigner(Buffer.alloc(32, 6))));
    },
    offline: { status: 'unknown key', problem: /not signed by a key that you gave/ },
    verify: /entry 523: signature_differs/,
  },
  'a forked checkpoint': {
    to: `update log_checkpoints set root = sha256('another log') where size = ${SIZE}`,
    evidence: async (served, world) => {
      const root = Buffer.alloc(32, 1).toString('base64');
      const note = (await world.noteOf(SIZE)).split('\n').with(2, root).join('\n');
      return change(served, (bundle) => Object.assign(bundle, { checkpoint: note }));
    },
    offline: { status: 'altered', problem: /signature of .* does not match/ },
    verify: /entry 520: checkpoint_differs/,
  },
  'a rewritten log with the same key': {
    kept: SIZE,
    to: async (world) => {
      await world.owner.query(RESTORE);
      await world.recordMore(KEPT, SIZE - KEPT, { verdict: 'ALLOW' });
      await world.seal();
    },
    offline: { status: 'altered', problem: /a fork/ },
    verify: /a fork/,
  },
  'a log rewritten and continued': {
    kept: SIZE,
    to: async (world) => {
      await world.owner.query(RESTORE);
      await world.recordMore(KEPT, SIZE - KEPT + 30, { verdict: 'ALLOW' });
      await world.seal();
    },
    offline: { status: 'altered', problem: /it was rewritten/ },
    verify: /it was rewritten/,
  },
  'a restored backup older than a kept checkpoint': {
    kept: SIZE,
    to: RESTORE,
    offline: { status: 'altered', problem: /had 520 entries and now has 300: it was cut, or put back/ },
    verify: /had 520 entries and now has 300: it was cut, or put back/,
  },
  'a restored backup older than what a sealer left': {
    kept: SIZE,
    keptByOperator: KEPT,
    to: async (world) => {
      const store = world.makeStore();
      await world.recordMore(SIZE, 3);
      await world.seal([], store);
      await world.owner.query(RESTORE);
      await world.recordMore(900, 1);
      expect(await world.seal([], store)).toBe('broken');
    },
    offline: { status: 'altered', problem: /it was cut, or put back to an older state/ },
    verify: /rolled back: the log had 523 entries and has 300/,
  },
  'a truncated bundle': {
    to: `delete from log_leaves where index >= 500; delete from log_payloads where index >= 500;
      delete from decisions where decision_id >= '${padded(500)}'; update log_heads set size = 500`,
    evidence: (served) => served.slice(0, -200),
    offline: { status: 'unreadable', problem: /line 1/ },
    verify: /head_differs|checkpoint_ahead|leaf_missing/,
  },
};

describe('a tampering', () => {
  let template: LogTemplate;
  let folder: string;
  const worlds: LogWorld[] = [];
  const openWorld = async (name: string) => {
    const world = await template.copy(name);
    worlds.push(world);
    return world;
  };
  beforeAll(async () => {
    template = await LogTemplate.make();
    folder = await mkdtemp(join(tmpdir(), 'agentlens-kept-'));
  });
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.close();
  });
  afterAll(async () => {
    await template.drop();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(Object.entries(TAMPERINGS).map(([name, tampering], n) => ({ name, tampering, n })))(
    'is found by the offline verifier and by log verify: $name',
    async ({ tampering: { to, evidence, kept = KEPT, keptByOperator = kept, offline, verify }, n }) => {
      const world = await openWorld(`t${n}`);
      const [key, note] = [await world.key(), await world.noteOf(kept)];
      const whole = JSON.stringify(await world.evidence(KEPT));
      const file = join(folder, `${n}.txt`);
      await writeFile(file, await world.noteOf(keptByOperator));
      expect(checkOffline(whole, key, await world.noteOf(KEPT))).toMatchObject({ status: 'proven', findings: [] });
      expect(await world.verifyLog(file, key)).toMatchObject({ exitCode: 0 });

      if (typeof to === 'string') await world.owner.query(to);
      else await to(world);

      const served = async () => JSON.stringify(await world.evidence(kept));
      const shown = evidence === undefined ? await served() : await evidence(whole, world);
      const verdict = checkOffline(shown, key, note);
      expect(verdict).toMatchObject({ status: offline.status });
      expect(verdict.findings[0]?.problem).toMatch(offline.problem);
      const checked = await world.verifyLog(file, key);
      expect(checked.said).toMatch(verify);
      expect(checked.exitCode).toBe(1);
    },
  );

  it.each([KEPT, SIZE])(
    'is not seen in a whole log by a reader who kept the checkpoint of %i entries',
    async (kept) => {
      const world = await openWorld(`whole${kept}`);
      await expectWhole(world, await world.noteOf(kept));
    },
  );

  const expectWhole = async (world: LogWorld, note: string) => {
    const key = await world.key();
    const file = join(folder, `${world.nowMs}.txt`);
    await writeFile(file, note);
    const size = Number(note.split('\n')[1]);
    expect(checkOffline(JSON.stringify(await world.evidence(size)), key, note)).toMatchObject({ findings: [] });
    expect(await world.verifyLog(file, key)).toMatchObject({ exitCode: 0 });
  };

  it('is not what two sealers do at the same time', async () => {
    const world = await openWorld('two');
    await world.recordMore(SIZE, 60);
    await Promise.all(['a', 'b'].map((name) => world.seal([], world.makeStore(name))));
    await expectWhole(world, await world.noteOf(KEPT));
    expect((await world.evidence(KEPT)).entries).toHaveLength((SIZE + 60 - 1) / 3);
  });

  it('is not what a sealer leaves that is killed in the middle', async () => {
    const world = await openWorld('killed');
    await world.recordMore(SIZE, 60);
    await world.owner.query(`
      create function wait_here() returns trigger language plpgsql as $$
        begin perform pg_advisory_xact_lock(64); return new; end $$;
      create trigger wait_here before update on log_heads for each row execute function wait_here();
      select pg_advisory_lock(64)`);
    const child = world.startSealer();
    await eventually(async () => {
      const { rows } = await world.owner.query(`select from pg_locks where locktype = 'advisory' and not granted`);
      expect(rows).toHaveLength(1);
    });
    await killAtOnce(child);
    await world.owner.query('select pg_advisory_unlock(64); drop trigger wait_here on log_heads');
    await world.seal();
    await expectWhole(world, await world.noteOf(KEPT));
    expect((await world.evidence(KEPT)).entries).toHaveLength((SIZE + 60 - 1) / 3);
  });

  it('is not what retention does to an approval: its evidence stays when its alert is gone', async () => {
    const world = await openWorld('approval');
    await world.owner.query(`
      insert into log_pending (tenant_id, kind, entry_id, at, run_id, payload)
      values ('acme', 'approval', 'opened', now(), 'run-1', '{"approvalId": "approval-1", "status": "approved"}')`);
    await world.seal();
    const evidence = await world.evidenceOfApproval('approval-1');
    expect(evidence.entries).toHaveLength(1);
    expect(checkOffline(JSON.stringify(evidence), await world.key())).toMatchObject({ findings: [] });
    await expect(world.evidenceOfApproval('approval-2')).rejects.toThrow('Evidence not found');
  });

  it('is not what a clock that jumps does', async () => {
    const world = await openWorld('clock');
    const store = world.makeStore();
    for (const [n, jump] of [3_600_000, -7_200_000, 60_000].entries()) {
      world.nowMs += jump;
      await world.recordMore(SIZE + n * 10, 10, { decidedAt: new Date(world.nowMs).toISOString() });
      await world.seal([], store);
    }
    await expectWhole(world, await world.noteOf(KEPT));
  });
});
