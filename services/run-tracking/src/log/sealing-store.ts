import { randomBytes, randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type Database, readChangeRows, readDecisionRows, type Tables, tilesFrom } from '@agentlens/database';
import {
  Frontier,
  HASH_BYTES,
  hashLeaf,
  hashTile,
  isMissingTile,
  type NoteSigner,
  signCheckpoint,
  TILE_WIDTH,
  TreeReader,
} from '@agentlens/log';
import { type Kysely, sql, type Transaction } from 'kysely';
import { canSeal, type PendingEntry, SALTS_BYTES, type SealedEntry, sealEntry } from './sealed-entries.ts';

const ENTRIES_AT_ONCE = 1_000;
/** Entries that are hashed before others on the same thread, such as decisions, get their turn. */
const ENTRIES_PER_TURN = 20;
/** A growing log gets a checkpoint this often. */
const CHECKPOINT_MS = 1_000;
/** A log that could not be sealed rests, so that the others are sealed meanwhile. */
const REST_MS = 5_000;

type Writing = Transaction<Tables>;

interface Head {
  readonly tenantId: string;
  readonly logId: string;
  readonly size: number;
  readonly frontier: Buffer;
  readonly checkpointSize: number;
  readonly lastCheckpointAt: string | null;
}

export type Sealing =
  | { readonly result: 'idle' }
  | { readonly result: 'sealed'; readonly tenantId: string; readonly entries: number; readonly size: number }
  | { readonly result: 'broken'; readonly tenantId: string; readonly reason: string };

/** Where all logs stand. */
export interface LogState {
  /** Something is pending, or sealed and not in a checkpoint. */
  readonly hasWork: boolean;
  /** Age of the oldest fact that is not in its log. */
  readonly lagMs: number;
  /** Logs that do not grow any more. */
  readonly broken: number;
}

/** One log could not be sealed. It rests for a while; the others are not affected. */
export class SealingFailed extends Error {
  override readonly name = 'SealingFailed';

  constructor(
    readonly tenantId: string,
    cause: unknown,
  ) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

interface SealingStoreDependencies {
  readonly database: Pick<Database, 'db'>;
  readonly signer: NoteSigner;
  readonly origin: string;
  readonly instance: string;
}

/**
 * Appends pending entries to the logs. Any number of sealers may run: the lock on the head, the primary key of leaves
 * and the comparison of the size each prevent a fork.
 */
export class SealingStore {
  readonly #dependencies: SealingStoreDependencies;
  /** Sizes that this process left, to notice a database that was put back. */
  readonly #sizes = new Map<string, number>();
  readonly #restUntilMs = new Map<string, number>();
  #sequence = 0;

  constructor(dependencies: SealingStoreDependencies) {
    this.#dependencies = dependencies;
  }

  /** One statement, so that sealers that have nothing to do cost little. @throws database errors */
  async look(): Promise<LogState> {
    const { rows } = await sql<{ lag: number | null; behind: boolean; broken: number }>`
      select (select extract(epoch from now() - min(queued_at)) * 1000 from log_pending)::float8 as lag,
        exists (select from log_heads where broken is null and size > checkpoint_size) as behind,
        (select count(*) from log_heads where broken is not null)::int as broken`.execute(
      this.#dependencies.database.db,
    );
    const { lag = null, behind = false, broken = 0 } = rows[0] ?? {};
    return { hasWork: lag !== null || behind, lagMs: Math.max(0, lag ?? 0), broken };
  }

  /** Creates the logs of tenants that have none. @throws database errors */
  async openLogs(): Promise<void> {
    const { rows } = await sql<{ tenant_id: string }>`
      select distinct p.tenant_id from log_pending p
      where not exists (select from log_heads h where h.tenant_id = p.tenant_id) limit 100`.execute(
      this.#dependencies.database.db,
    );
    if (rows.length === 0) return;
    await this.#dependencies.database.db
      .insertInto('log_heads')
      .values(rows.map(({ tenant_id }) => ({ tenant_id, log_id: randomUUID() })))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  /**
   * Seals a batch of the tenant that waited longest, in one transaction.
   *
   * @throws SealingFailed about the chosen log, or database errors before one was chosen
   */
  async sealSome(nowMs: number): Promise<Sealing> {
    let chosen: string | undefined;
    try {
      return await this.#sealNext(nowMs, (tenantId) => {
        chosen = tenantId;
      });
    } catch (error) {
      if (chosen === undefined) throw error;
      this.#restUntilMs.set(chosen, nowMs + REST_MS);
      throw new SealingFailed(chosen, error);
    }
  }

  async #sealNext(nowMs: number, choose: (tenantId: string) => void): Promise<Sealing> {
    const sealing = await this.#dependencies.database.db.transaction().execute(async (tx): Promise<Sealing> => {
      const head = await lockHead(tx, nowMs, this.#resting(nowMs));
      if (head === undefined) return { result: 'idle' };
      choose(head.tenantId);
      const reason = await this.#findFault(tx, head);
      if (reason !== undefined) {
        await tx.updateTable('log_heads').set({ broken: reason }).where('tenant_id', '=', head.tenantId).execute();
        return { result: 'broken', tenantId: head.tenantId, reason };
      }
      return this.#append(tx, head, nowMs);
    });
    // Only after the commit: a size that was rolled back was never left.
    if (sealing.result === 'sealed') this.#sizes.set(sealing.tenantId, sealing.size);
    return sealing;
  }

  #resting(nowMs: number): readonly string[] {
    for (const [tenantId, untilMs] of this.#restUntilMs) {
      // A clock that went back must not make a log rest for longer.
      if (untilMs <= nowMs || untilMs > nowMs + REST_MS) this.#restUntilMs.delete(tenantId);
    }
    return [...this.#restUntilMs.keys()];
  }

  /** A head that is smaller than before, or does not belong to the stored leaves, must not grow. */
  async #findFault(tx: Writing, { tenantId, size, frontier }: Head): Promise<string | undefined> {
    const known = this.#sizes.get(tenantId);
    if (known === size) return undefined;
    if (known !== undefined && size < known) return `rolled back: the log had ${known} entries and has ${size}`;
    const { rows } = await sql<{ size: number | null }>`
      select max(size) as size from log_checkpoints where tenant_id = ${tenantId}`.execute(tx);
    const signed = rows[0]?.size ?? 0;
    if (signed > size) return `rolled back: a checkpoint of ${signed} entries is signed and the log has ${size}`;
    const computed = await new TreeReader(tilesFrom(tx, tenantId), size).frontier().catch((error: unknown) => {
      if (isMissingTile(error)) return undefined;
      throw error;
    });
    if (computed === undefined || !Buffer.concat(computed).equals(frontier))
      return `the head of ${size} entries does not belong to the stored leaves`;
    return undefined;
  }

  async #append(tx: Writing, head: Head, nowMs: number): Promise<Sealing> {
    const { tenantId, size } = head;
    const pending = await readPending(tx, tenantId);
    const of = (kind: string) => pending.filter((entry) => entry.kind === kind).map((entry) => entry.entry_id);
    const sources = {
      decisions: await readDecisionRows(tx, tenantId, of('decision')),
      changes: await readChangeRows(tx, tenantId, of('change')),
    };
    const sealable = pending.filter((entry) => canSeal(entry, sources));
    const numbers = await countRuns(tx, tenantId, sealable);
    const frontier = new Frontier(size, splitFrontier(head.frontier));
    const salts = randomBytes(sealable.length * SALTS_BYTES);
    const entries: SealedEntry[] = [];
    for (const [at, entry] of sealable.entries()) {
      this.#sequence += 1;
      const writer = `${this.#dependencies.instance}#${this.#sequence}`;
      const own = salts.subarray(at * SALTS_BYTES, (at + 1) * SALTS_BYTES);
      const sealed = sealEntry(entry, sources, { index: size + at, runEntry: numbers[at], writer, salts: own });
      frontier.append(hashLeaf(sealed.leaf));
      entries.push(sealed);
      if (entries.length % ENTRIES_PER_TURN === 0) await setImmediate();
    }
    await insertEntries(tx, tenantId, entries);
    await insertTiles(tx, tenantId, size, frontier.size);
    const isDue = frontier.size > head.checkpointSize && isCheckpointDue(head, nowMs);
    if (isDue) await this.#checkpoint(tx, head, frontier, nowMs);
    const advanced = await tx
      .updateTable('log_heads')
      .set({
        size: frontier.size,
        frontier: Buffer.concat(frontier.hashes),
        sealed_at: new Date(nowMs).toISOString(),
        ...(isDue && { checkpoint_size: frontier.size }),
      })
      .where('tenant_id', '=', tenantId)
      .where('size', '=', size)
      .executeTakeFirst();
    if (advanced.numUpdatedRows !== 1n) throw new Error('the head of a locked log was changed');
    await removePending(tx, tenantId, pending);
    return { result: 'sealed', tenantId, entries: entries.length, size: frontier.size };
  }

  async #checkpoint(tx: Writing, { tenantId, logId }: Head, frontier: Frontier, nowMs: number): Promise<void> {
    const root = frontier.root();
    const origin = `${this.#dependencies.origin}/log/${logId}`;
    const note = signCheckpoint({ origin, size: frontier.size, root }, this.#dependencies.signer);
    const at = new Date(nowMs).toISOString();
    await tx
      .insertInto('log_checkpoints')
      .values({ tenant_id: tenantId, size: frontier.size, root, note, at })
      .execute();
  }
}

/** A clock that went back must not delay checkpoints until it catches up. */
function isCheckpointDue({ lastCheckpointAt }: Head, nowMs: number): boolean {
  return lastCheckpointAt === null || Math.abs(nowMs - Date.parse(lastCheckpointAt)) >= CHECKPOINT_MS;
}

async function lockHead(tx: Writing, nowMs: number, resting: readonly string[]): Promise<Head | undefined> {
  const due = new Date(nowMs - CHECKPOINT_MS).toISOString();
  const later = new Date(nowMs + CHECKPOINT_MS).toISOString();
  const { rows } = await sql<Head>`
    select h.tenant_id as "tenantId", h.log_id as "logId", h.size, h.frontier, h.checkpoint_size as "checkpointSize",
      last.at as "lastCheckpointAt"
    from log_heads h left join lateral (
      select at from log_checkpoints c where c.tenant_id = h.tenant_id order by size desc limit 1) as last on true
    where h.broken is null and h.tenant_id <> all(${[...resting]}::text[]) and (
      exists (select from log_pending p where p.tenant_id = h.tenant_id)
      or (h.size > h.checkpoint_size and (last.at is null or last.at <= ${due} or last.at >= ${later})))
    order by h.sealed_at limit 1 for update of h skip locked`.execute(tx);
  return rows[0];
}

async function readPending(tx: Writing, tenantId: string): Promise<PendingEntry[]> {
  return tx
    .selectFrom('log_pending')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('at')
    .orderBy('kind')
    .orderBy('entry_id')
    .limit(ENTRIES_AT_ONCE)
    .execute();
}

/** Numbers the entries of each run, after those that are sealed. */
async function countRuns(
  tx: Writing,
  tenantId: string,
  entries: readonly PendingEntry[],
): Promise<readonly (number | undefined)[]> {
  const added = new Map<string, number>();
  for (const { run_id: runId } of entries) if (runId !== null) added.set(runId, (added.get(runId) ?? 0) + 1);
  if (added.size === 0) return entries.map(() => undefined);
  const counts = [...added].sort(([a], [b]) => (a < b ? -1 : 1));
  const { rows } = await sql<{ run_id: string; entries: number }>`
    insert into log_runs as r (tenant_id, run_id, entries)
    select ${tenantId}, run_id, entries from jsonb_to_recordset(${JSON.stringify(
      counts.map(([run_id, count]) => ({ run_id, entries: count })),
    )}::jsonb) as c(run_id text, entries bigint)
    on conflict (tenant_id, run_id) do update set entries = r.entries + excluded.entries
    returning run_id, entries`.execute(tx);
  const next = new Map(rows.map(({ run_id, entries: total }) => [run_id, total - (added.get(run_id) ?? 0)]));
  return entries.map(({ run_id: runId }) => {
    if (runId === null) return undefined;
    const number = (next.get(runId) ?? 0) + 1;
    next.set(runId, number);
    return number;
  });
}

async function insertEntries(tx: Writing, tenantId: string, entries: readonly SealedEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map(({ salt, memberSalt, ...entry }) => ({
    ...entry,
    salt: salt.toString('hex'),
    memberSalt: memberSalt?.toString('hex') ?? null,
  }));
  await sql`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as e(index bigint, kind text, id text, leaf text,
        salt text, "memberSalt" text, withheld jsonb, body text, "runId" text, "runEntry" bigint)
    ), leaves as (
      insert into log_leaves (tenant_id, index, kind, entry_id, leaf)
      select ${tenantId}, index, kind, id, leaf from given
    )
    insert into log_payloads (tenant_id, index, kind, entry_id, salt, member_salt, withheld, body, run_id, run_entry)
    select ${tenantId}, index, kind, id, decode(salt, 'hex'), decode("memberSalt", 'hex'), withheld, body, "runId", "runEntry"
    from given`.execute(tx);
}

/** Stores the tiles that became full, from the lowest level up. */
async function insertTiles(tx: Writing, tenantId: string, from: number, to: number): Promise<void> {
  const source = tilesFrom(tx, tenantId);
  let [first, last] = [Math.floor(from / TILE_WIDTH), Math.floor(to / TILE_WIDTH)];
  for (let level = 0; last > first; level++) {
    for (let n = first; n < last; n++) {
      const hashes = await readRow(tx, source, tenantId, level, n);
      await tx
        .insertInto('log_tiles')
        .values({ ...{ tenant_id: tenantId, level, n, hashes }, root: hashTile(hashes) })
        .execute();
    }
    [first, last] = [Math.floor(first / TILE_WIDTH), Math.floor(last / TILE_WIDTH)];
  }
}

/** The 256 hashes of a tile that is not stored yet. */
async function readRow(
  tx: Kysely<Tables>,
  source: ReturnType<typeof tilesFrom>,
  tenantId: string,
  level: number,
  n: number,
): Promise<Buffer> {
  const last = TILE_WIDTH - 1;
  const most = await source.readTile(level, n, last);
  const at = n * TILE_WIDTH + last;
  const { rows } =
    level === 0
      ? await sql<{ leaf: string }>`
          select leaf from log_leaves where tenant_id = ${tenantId} and index = ${at}`.execute(tx)
      : { rows: [] };
  if (rows[0] !== undefined) return Buffer.concat([most, hashLeaf(rows[0].leaf)]);
  const below = await tx
    .selectFrom('log_tiles')
    .select('root')
    .where('tenant_id', '=', tenantId)
    .where('level', '=', level - 1)
    .where('n', '=', at)
    .executeTakeFirstOrThrow();
  return Buffer.concat([most, below.root]);
}

async function removePending(tx: Writing, tenantId: string, pending: readonly PendingEntry[]): Promise<void> {
  if (pending.length === 0) return;
  const keys = JSON.stringify(pending.map(({ kind, entry_id: id }) => ({ kind, id })));
  await sql`
    delete from log_pending p using jsonb_to_recordset(${keys}::jsonb) as k(kind text, id text)
    where p.tenant_id = ${tenantId} and p.kind = k.kind and p.entry_id = k.id`.execute(tx);
}

function splitFrontier(bytes: Buffer): Buffer[] {
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, at) =>
    bytes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );
}
