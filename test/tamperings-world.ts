import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Decision } from '@agentlens/contracts';
import { type Database, type LogCheckPosition, migrate, openDatabase } from '@agentlens/database';
import { openSigner } from '@agentlens/log';
import { readVerifierKey, type Verdict, verifyBundle } from '@agentlens/log-verify';
import type { Evidence } from '@agentlens/operations';
import { type FreshDatabase, freshDatabase } from '@agentlens/testing';
import pg from 'pg';
import { runCli, type SentRequest } from '../apps/cli/src/run-cli.testing.ts';
import { TenantReads } from '../services/query/src/http/tenant-reads.ts';
import { LogQueries } from '../services/query/src/log/log.queries.ts';
import { aDecision } from '../services/run-tracking/src/decisions/decision.testing.ts';
import { DecisionStore } from '../services/run-tracking/src/decisions/decision-store.ts';
import { SealingStore } from '../services/run-tracking/src/log/sealing-store.ts';

export const TENANT = 'acme';
export const RUN = 'run-1';
/** Sizes of the two signed checkpoints. The reader kept the first one. */
export const KEPT = 300;
export const SIZE = 520;
const NOON = Date.parse('2026-03-01T12:00:00.000Z');
const SIGNER = openSigner(Buffer.alloc(32, 5));
const CHILD = join(import.meta.dirname, '../services/run-tracking/src/log/seal-once.testing.ts');
const LOADER = join(import.meta.dirname, '../scripts/source-loader.mjs');

export const padded = (n: number) => `d${String(n).padStart(5, '0')}`;

/** Decisions of three runs, in turn. */
const makeDecisions = (from: number, to: number, fields: Partial<Decision> = {}) =>
  Array.from({ length: to - from }, (_, at) => {
    const n = from + at;
    return aDecision({ id: padded(n), runId: `run-${n % 3}`, arguments: { amount: n }, ...fields });
  });

/** A database with a sealed log, which each case copies. */
export class LogTemplate {
  private constructor(private readonly fresh: FreshDatabase) {}

  static async make(): Promise<LogTemplate> {
    const fresh = await freshDatabase({ migrate });
    const world = await LogWorld.open(fresh.url, NOON);
    await world.seal(makeDecisions(0, KEPT));
    // What a backup of that moment would have.
    await world.owner.query('create table kept_head as select frontier from log_heads');
    await world.seal(makeDecisions(KEPT, SIZE));
    await world.close();
    return new LogTemplate(fresh);
  }

  /** A copy of the database, in its state of that moment. */
  async copy(name: string): Promise<LogWorld> {
    const { url } = this.fresh;
    const server = new URL(url);
    const from = server.pathname.slice(1);
    server.pathname = '/postgres';
    const client = new pg.Client({ connectionString: server.href });
    await client.connect();
    try {
      await client.query(`create database ${from}_${name} template ${from}`);
    } finally {
      await client.end();
    }
    server.pathname = `/${from}_${name}`;
    return LogWorld.open(server.href, NOON + 60_000);
  }

  drop(): Promise<void> {
    return this.fresh.drop();
  }
}

/** A log with its sealer, an auditor with the offline verifier, and an owner who can change every row. */
export class LogWorld {
  nowMs: number;
  readonly #reader: LogQueries;

  private constructor(
    readonly url: string,
    readonly database: Database,
    private readonly readers: Database,
    readonly owner: pg.Client,
    nowMs: number,
  ) {
    this.nowMs = nowMs;
    this.#reader = new LogQueries(new TenantReads(readers));
  }

  static async open(url: string, nowMs: number): Promise<LogWorld> {
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    await owner.query(`insert into log_keys (public_key, sealed) values ($1, '') on conflict do nothing`, [
      SIGNER.publicKey,
    ]);
    const [database, readers] = [openDatabase({ url, role: 'run-tracking' }), openDatabase({ url, role: 'query' })];
    return new LogWorld(url, database, readers, owner, nowMs);
  }

  async close(): Promise<void> {
    await this.database.close();
    await this.readers.close();
    await this.owner.end();
  }

  makeStore(instance = 'a', signer = SIGNER): SealingStore {
    return new SealingStore({ database: this.database, signer, origin: 'test', instance });
  }

  async record(decisions: readonly Decision[]): Promise<void> {
    await new DecisionStore(this.database.pool).record(decisions);
  }

  recordMore(from: number, count: number, fields: Partial<Decision> = {}): Promise<void> {
    return this.record(makeDecisions(from, from + count, fields));
  }

  /** Records and seals until nothing is pending. @returns what sealing answered last */
  async seal(decisions: readonly Decision[] = [], store = this.makeStore()): Promise<string> {
    if (decisions.length > 0) await this.record(decisions);
    await store.openLogs();
    for (;;) {
      // A checkpoint becomes due.
      this.nowMs += 1_001;
      const { result } = await store.sealSome(this.nowMs);
      if (result !== 'sealed') return result;
    }
  }

  async key(): Promise<string> {
    return (await this.#reader.key(TENANT))?.key ?? '';
  }

  async noteOf(size: number): Promise<string> {
    const { rows } = await this.owner.query('select note from log_checkpoints where size = $1', [size]);
    return String(rows[0]?.note);
  }

  /** The evidence of a run as the platform serves it now, to a reader who kept a checkpoint of that size. */
  async evidence(kept: number): Promise<Evidence> {
    const made = new Date(this.nowMs).toISOString();
    const { size = 0 } = (await this.#reader.checkpoint(TENANT)) ?? {};
    // A log that is smaller than the kept one cannot prove that it contains it.
    const since = kept > size ? undefined : kept;
    return this.#reader.evidence(TENANT, { kind: 'run', id: RUN }, since, made);
  }

  /** The evidence of an approval. */
  evidenceOfApproval(id: string): Promise<Evidence> {
    return this.#reader.evidence(TENANT, { kind: 'approval', id }, undefined, new Date(this.nowMs).toISOString());
  }

  /** What `agentlens log verify` prints and answers with. */
  async verifyLog(
    kept: string | undefined,
    key: string,
  ): Promise<{ readonly exitCode: number; readonly said: string }> {
    const { exitCode, stdout, stderr } = await runCli(
      ['log', 'verify', ...(kept === undefined ? [] : ['--since', kept, '--key', key])],
      { answer: (request) => this.#answer(request) },
    );
    return { exitCode, said: stdout + stderr };
  }

  async #answer({ path, body }: SentRequest): Promise<unknown> {
    const { pathname, searchParams } = new URL(path, 'http://platform.test');
    if (pathname === '/api/log/checkpoint') return this.#reader.checkpoint(TENANT);
    if (pathname === '/api/log/consistency') {
      const [from, to] = ['from', 'to'].map((name) => Number(searchParams.get(name)));
      return this.#reader.consistency(TENANT, from ?? 0, to);
    }
    return this.#reader.check(TENANT, body as LogCheckPosition);
  }

  /** Runs a sealer in a process of its own, which blocks in its transaction on `lock`. */
  startSealer(): ChildProcess {
    return spawn(process.execPath, ['--conditions=@agentlens/source', '--import', LOADER, CHILD], {
      env: { PATH: process.env.PATH, DATABASE_URL: this.url },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
}

export function checkOffline(evidence: string, key: string, since?: string): Verdict {
  return verifyBundle(evidence, { keys: [readVerifierKey(key)], since });
}

/** Kills a process as the kernel does, without a chance to clean up. */
export async function killAtOnce(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
