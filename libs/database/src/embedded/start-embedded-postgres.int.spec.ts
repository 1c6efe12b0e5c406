import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { migrate } from '../migrate.ts';
import { openDatabase } from '../open-database.ts';
import { serverUser } from './binaries.ts';
import { stopProcess } from './server.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './start-embedded-postgres.ts';

const MODULE = fileURLToPath(new URL('./start-embedded-postgres.ts', import.meta.url));
const run = promisify(execFile);

async function query(url: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(text);
  } finally {
    await client.end();
  }
}

/** A separate process that starts the server, prints its address and keeps running. */
async function startElsewhere(dataDir: string, ids: { uid?: number; gid?: number } = {}) {
  const program = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(MODULE)});
    try { console.log((await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} })).url); }
    catch (error) { console.log('refused: ' + error.message); process.exit(0); }
    setInterval(() => {}, 1000);`;
  const flags = ['--conditions=@agentlens/source', '--input-type=module', '-e', program];
  const child: ChildProcess = spawn(process.execPath, flags, {
    ...ids,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH },
  });
  if (child.stdout === null) throw new Error('no output');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, said: line.toString('utf8').trim() };
}

describe('embedded Postgres', () => {
  let folder: string;
  let running: EmbeddedPostgres | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agentlens-embedded-'));
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
    await rm(folder, { recursive: true, force: true });
  });

  it('finds its data after a restart', async () => {
    const first = await startEmbeddedPostgres({ dataDir: folder });
    await migrate(first.url);
    await query(first.url, `insert into tenants values ('acme', 'Acme', now())`);
    await first.stop();

    running = await startEmbeddedPostgres({ dataDir: folder });
    const database = openDatabase({ url: running.url, role: 'query' });
    const tenants = await database.db.selectFrom('tenants').select('id').execute();
    await database.close();

    expect(tenants).toEqual([{ id: 'acme' }]);
  });

  it('requires the password and listens on loopback only', async () => {
    running = await startEmbeddedPostgres({ dataDir: folder });
    const stranger = new URL(running.url);
    stranger.password = 'guessed';

    await expect(query(stranger.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
    const { rows } = await query(running.url, 'show listen_addresses');
    expect(rows).toEqual([{ listen_addresses: '127.0.0.1' }]);
  });

  it('restarts after the server was killed', async () => {
    const first = await startEmbeddedPostgres({ dataDir: folder });
    await query(first.url, 'create table kept as select 1 as n');
    const pid = Number((await readFile(join(folder, 'cluster/postmaster.pid'), 'utf8')).split('\n')[0]);
    process.kill(pid, 'SIGKILL');

    running = await startEmbeddedPostgres({ dataDir: folder });

    expect((await query(running.url, 'select n from kept')).rows).toEqual([{ n: 1 }]);
  });

  it('reports an unexpected exit, but not a requested stop', async () => {
    let lost = 0;
    const lostOnce = Promise.withResolvers<void>();
    const onLost = () => {
      lost += 1;
      lostOnce.resolve();
    };
    const first = await startEmbeddedPostgres({ dataDir: folder, onLost });
    await first.stop();
    expect(lost).toBe(0);
    const second = await startEmbeddedPostgres({ dataDir: folder, onLost });
    const [pid] = (await readFile(join(folder, 'cluster/postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGQUIT');
    await lostOnce.promise;
    await second.stop();
    expect(lost).toBe(1);
  });

  it('ignores a stale lock file that names a process of another program', async () => {
    const first = await startEmbeddedPostgres({ dataDir: folder });
    const lockFile = join(folder, 'cluster/postmaster.pid');
    const lines = (await readFile(lockFile, 'utf8')).split('\n');
    await first.stop();
    const stranger = spawn('sleep', ['600'], { ...(await serverUser()) });
    try {
      await writeFile(lockFile, [stranger.pid, ...lines.slice(1)].join('\n'));
      running = await startEmbeddedPostgres({ dataDir: folder });
      expect((await query(running.url, 'select 1 as n')).rows).toEqual([{ n: 1 }]);
    } finally {
      stranger.kill();
    }
  });

  it('takes over the folder of a killed platform, and refuses that of a running one', async () => {
    const other = await startElsewhere(folder);
    expect(other.said).toMatch(/^postgres:/);
    await query(other.said, 'create table kept as select 1 as n');

    await expect(startEmbeddedPostgres({ dataDir: folder })).rejects.toThrow('in use by another AgentLens process');
    other.child.kill('SIGKILL');
    await once(other.child, 'exit');
    running = await startEmbeddedPostgres({ dataDir: folder });

    expect((await query(running.url, 'select n from kept')).rows).toEqual([{ n: 1 }]);
  });

  it('lets one of two concurrent starts win', async () => {
    const [one, two] = await Promise.all([startElsewhere(folder), startElsewhere(folder)]);
    const said = [one.said, two.said].sort();
    try {
      expect(said[0]).toMatch(/^postgres:/);
      expect(said[1]).toMatch(/^refused: .*in use/);
    } finally {
      for (const { child } of [one, two]) child.kill();
      running = await startEmbeddedPostgres({ dataDir: folder });
    }
  });

  it('works below a folder that only its owner may enter, without opening it', async () => {
    const closed = join(folder, 'closed');
    await mkdir(closed, { mode: 0o700 });
    const first = await startEmbeddedPostgres({ dataDir: join(closed, 'postgres') });
    await query(first.url, 'create table kept as select 1 as n');
    await first.stop();

    running = await startEmbeddedPostgres({ dataDir: join(closed, 'postgres') });

    expect((await query(running.url, 'select n from kept')).rows).toEqual([{ n: 1 }]);
    expect((await stat(closed)).mode & 0o777).toBe(0o700);
  });

  const whereItRunsAsAnother = process.getuid?.() === 0 ? it : it.skip;
  whereItRunsAsAnother('names the owner of the files and the fix if a copy did not preserve ownership', async () => {
    const first = await startEmbeddedPostgres({ dataDir: folder });
    await first.stop();
    await run('chown', ['-R', '0:0', join(folder, 'cluster')]);
    await expect(startEmbeddedPostgres({ dataDir: folder })).rejects.toThrow(/belong to user 0.*chown -R/);
    const { uid, gid } = await idsOf('postgres').catch(() => idsOf('nobody'));
    await run('chown', ['-R', `${uid}:${gid}`, join(folder, 'cluster')]);
    running = await startEmbeddedPostgres({ dataDir: folder });
  });

  it('works for an ordinary user', async () => {
    const ids = process.getuid?.() === 0 ? await idsOf('nobody') : {};
    if (ids.uid !== undefined) await chown(folder, ids.uid, ids.gid ?? ids.uid);
    await chmod(folder, 0o700);
    const other = await startElsewhere(join(folder, 'data'), ids);
    try {
      expect((await query(other.said, 'select 1 as n')).rows).toEqual([{ n: 1 }]);
    } finally {
      other.child.kill();
      const lock = await readFile(join(folder, 'data/cluster/postmaster.pid'), 'utf8');
      await stopProcess(Number(lock.split('\n')[0]));
    }
  });
});

async function idsOf(name: string): Promise<{ uid?: number; gid?: number }> {
  const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}
