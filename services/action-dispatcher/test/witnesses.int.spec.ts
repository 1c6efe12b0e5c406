import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Database, migrate, openDatabase } from '@agentlens/database';
import { createEgressClient, type EgressClient } from '@agentlens/egress';
import { hashLeaf, openSigner, signCheckpoint, writeVerifierKey } from '@agentlens/log';
import { readLeaves } from '@agentlens/log/testing';
import { openCheckpoint, openCosigner, readVerifierKey } from '@agentlens/log-verify';
import { createLogger } from '@agentlens/platform';
import { type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { WitnessAsker } from '../src/witnesses/witness-asker.ts';

const LOADER = join(import.meta.dirname, '../../../scripts/source-loader.mjs');
const CLI = join(import.meta.dirname, '../../../apps/cli/src/main.ts');
const ORIGIN = 'agentlens/log/1';
const signer = openSigner(Buffer.alloc(32, 5));
const LOG = writeVerifierKey(ORIGIN, signer.publicKey);
const leaves = Array.from({ length: 400 }, (_, n) => `leaf ${n}`);
/** The same log, rewritten at its third entry. */
const fork = leaves.map((leaf, n) => (n === 2 ? 'other' : leaf));

let fresh: FreshDatabase;
let database: Database;
let owner: pg.Client;
let egress: EgressClient;
let folder: string;
const ending: (() => Promise<void>)[] = [];

beforeEach(async () => {
  fresh = await freshDatabase({ migrate });
  database = openDatabase({ url: fresh.url, role: 'action-dispatcher' });
  owner = new pg.Client({ connectionString: fresh.url });
  await owner.connect();
  egress = createEgressClient({ allow: ['127.0.0.1/32'] });
  folder = mkdtempSync(join(tmpdir(), 'agentlens-witness-'));
});
afterEach(async () => {
  for (const end of ending.splice(0)) await end();
  await egress.close();
  await database.close();
  await owner.end();
  await fresh.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Makes the log of a tenant one of these leaves, as the sealer would have, or someone who changes the database. */
async function setLog(size: number, of = leaves, { tenant = 'acme', origin = ORIGIN } = {}): Promise<void> {
  const tree = readLeaves(of.slice(0, size));
  const root = await tree.root();
  for (const table of ['log_heads', 'log_leaves', 'log_tiles', 'log_checkpoints'])
    await owner.query(`delete from ${table} where tenant_id = $1`, [tenant]);
  await owner.query('insert into log_heads (tenant_id, log_id, size) values ($1, $1, $2)', [tenant, size]);
  await owner.query(
    `insert into log_leaves (tenant_id, index, kind, entry_id, leaf)
     select $1, n - 1, 'decision', n::text, leaf from unnest($2::text[]) with ordinality as l(leaf, n)`,
    [tenant, of.slice(0, size)],
  );
  for (let n = 0; n < Math.floor(size / 256); n++) {
    const part = readLeaves(of.slice(n * 256, (n + 1) * 256));
    const hashes = Buffer.concat(of.slice(n * 256, (n + 1) * 256).map(hashLeaf));
    await owner.query('insert into log_tiles values ($1, 0, $2, $3, $4)', [tenant, n, hashes, await part.root()]);
  }
  await owner.query('insert into log_checkpoints (tenant_id, size, root, note, at) values ($1, $2, $3, $4, now())', [
    ...[tenant, size, root, signCheckpoint({ origin, size, root }, signer)],
  ]);
}

/** The real command, as a customer runs it. */
async function startWitness(
  name = 'w1',
  ...words: string[]
): Promise<{ key: string; url: string; stop(): Promise<void> }> {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const child: ChildProcess = spawn(
    process.execPath,
    [
      ...['--import', LOADER, '--conditions=@agentlens/source', '--no-warnings', CLI, 'witness', '--json'],
      ...['--key', join(folder, name), '--log', LOG, '--listen', '127.0.0.1:0', ...words],
    ],
    { env, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let said = '';
  child.stderr?.on('data', (text: Buffer) => {
    said += text.toString();
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  ending.push(stop);
  if (child.stdout === null) throw new Error('the command has no output');
  for await (const line of createInterface({ input: child.stdout })) return { ...JSON.parse(line), stop };
  throw new Error(`the witness did not start: ${said}`);
}

const NEW = ['--name', 'witness.example/w1'];

function makeAsker(...witnesses: { key: string; url: string }[]) {
  const logger = createLogger({ name: 'test', level: 'silent' });
  return new WitnessAsker({ database, egress, logger, witnesses, clock: { now: Date.now } });
}

const stored = async () => {
  const { rows } = await owner.query(
    `select s.tenant_id, s.size::int, c.note || s.line || E'\\n' as note from log_cosignatures s
     join log_checkpoints c on c.tenant_id = s.tenant_id and c.size = s.size order by 1, 2`,
  );
  return rows as { tenant_id: string; size: number; note: string }[];
};

describe('asking witnesses', () => {
  it('keeps the cosignatures of a log that grows', async () => {
    const witness = await startWitness('w1', ...NEW);
    const asker = makeAsker(witness);
    for (const size of [1, 10, 257, 400]) {
      await setLog(size);
      await asker.ask();
      const [row] = await stored();
      expect(openCheckpoint(row?.note ?? '', [LOG, witness.key].map(readVerifierKey))).toMatchObject({
        ...{ size, signedBy: [ORIGIN, 'witness.example/w1'] },
      });
      await owner.query('delete from log_checkpoints');
    }
    expect([asker.contradicted, asker.failing]).toEqual([0, 0]);
  });

  it('asks once about each checkpoint', async () => {
    const asked: string[] = [];
    const counting: EgressClient = {
      ...{ close: () => egress.close() },
      send: (request) => {
        asked.push(request.url);
        return egress.send(request);
      },
    };
    const witness = await startWitness('w1', ...NEW);
    await setLog(10);
    const logger = createLogger({ name: 'test', level: 'silent' });
    const fields = { database, egress: counting, logger, witnesses: [witness], clock: { now: Date.now } };
    await new WitnessAsker(fields).ask();
    await new WitnessAsker(fields).ask();
    expect(asked).toEqual([`${witness.url}/add-checkpoint`]);
  });

  it('begins where the witness is if the database does not know', async () => {
    const witness = await startWitness('w1', ...NEW);
    const asker = makeAsker(witness);
    await setLog(10);
    await asker.ask();
    await owner.query('delete from log_cosignatures');
    await setLog(300);
    await asker.ask();
    expect((await stored()).map(({ size }) => size)).toEqual([300]);
    expect([asker.contradicted, asker.failing]).toEqual([0, 0]);
  });

  const HOSTILE: Readonly<Record<string, () => Promise<void>>> = {
    'put back': () => setLog(5),
    'put back, without a trace': async () => {
      await setLog(5);
      await owner.query('delete from log_cosignatures');
    },
    'forked at the same size': async () => {
      await setLog(10, fork);
      await owner.query('delete from log_cosignatures');
    },
    'rewritten, and then grown': () => setLog(20, fork),
  };

  it.each(Object.entries(HOSTILE))('reports a log that was %s', async (_, change) => {
    const witness = await startWitness('w1', ...NEW);
    const asker = makeAsker(witness);
    await setLog(10);
    await asker.ask();
    await change();
    await asker.ask();
    expect(asker.contradicted).toBe(1);
    expect((await stored()).filter(({ size }) => size !== 10)).toEqual([]);

    await setLog(30);
    await asker.ask();
    expect(asker.contradicted).toBe(0);
  });

  it('does not wait for a witness that is away, and asks it again', async () => {
    const first = await startWitness('w1', ...NEW);
    const second = await startWitness('w2', '--name', 'witness.example/w2');
    await second.stop();
    await setLog(10);
    await setLog(10, leaves, { tenant: 'beta', origin: 'agentlens/log/2' });
    const asker = makeAsker(first, second);
    await asker.ask();
    expect((await stored()).map(({ tenant_id: tenant }) => tenant)).toEqual(['acme']);
    // One is away; the other does not know the log of the second tenant.
    expect(asker.failing).toBe(2);
    const again = await startWitness('w2');
    const other = makeAsker(first, again);
    await other.ask();
    expect((await stored()).map(({ tenant_id: tenant }) => tenant)).toEqual(['acme', 'acme']);
    expect(other.contradicted).toBe(0);
  });

  it.each([
    ['nothing', () => ''],
    [
      'a cosignature of another key',
      (text: string) => openCosigner('witness.example/w1', Buffer.alloc(32, 9)).cosign(text, 1),
    ],
    ['a cosignature of another text', () => openCosigner('witness.example/w1', Buffer.alloc(32, 8)).cosign('x\n', 1)],
    ['a page', () => '<html>'],
    ['a page without an end', () => 'x'.repeat(100_000)],
  ])('does not keep %s', async (_, answer) => {
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        response.end(answer('agentlens/log/1\n'));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ending.push(async () => void server.close());
    const { port } = server.address() as AddressInfo;
    const { verifierKey: key } = openCosigner('witness.example/w1', Buffer.alloc(32, 8));
    const asker = makeAsker({ key, url: `http://127.0.0.1:${port}` });
    await setLog(10);
    await asker.ask();
    expect(await stored()).toEqual([]);
    expect([asker.failing, asker.contradicted]).toEqual([1, 0]);
  });

  it('sends nothing to an address that the guard refuses', async () => {
    const { verifierKey: key } = openCosigner('witness.example/w1', Buffer.alloc(32, 8));
    await setLog(10);
    const asker = makeAsker({ key, url: 'http://10.0.0.1:3490' });
    await asker.ask();
    expect([asker.failing, await stored()]).toEqual([1, []]);
  });

  it('may add cosignatures, and change nothing', async () => {
    const { db } = database;
    await expect(sql`update log_cosignatures set line = ''`.execute(db)).rejects.toThrow('permission denied');
    await expect(sql`delete from log_cosignatures`.execute(db)).rejects.toThrow('permission denied');
    await expect(sql`update log_heads set size = 0`.execute(db)).rejects.toThrow('permission denied');
    await expect(sql`update log_checkpoints set note = ''`.execute(db)).rejects.toThrow('permission denied');
  });
});
