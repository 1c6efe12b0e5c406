import {
  Frontier,
  HASH_BYTES,
  hashLeaf,
  hashTile,
  isMissingTile,
  isSignedNote,
  TILE_WIDTH,
  type TileSource,
  TreeReader,
} from '@agentlens/log';
import { type Kysely, sql } from 'kysely';
import type { Tables } from '../schema/tables.ts';
import type { LogFinding } from './log-check.ts';
import { tilesFrom } from './log-tiles.ts';

export interface LeafAt {
  readonly index: number;
  readonly leaf: string;
}

/** Compares the tiles of leaves `start` to `end - 1` with these leaves. */
export async function checkTiles(
  db: Kysely<Tables>,
  tenantId: string,
  start: number,
  end: number,
  leaves: readonly LeafAt[],
): Promise<LogFinding[]> {
  const first = start / TILE_WIDTH;
  const full = Math.floor(end / TILE_WIDTH);
  const tiles = await db
    .selectFrom('log_tiles')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('level', '=', 0)
    .where('n', '>=', first)
    .where('n', '<', full)
    .execute();
  const stored = new Map(tiles.map((tile) => [tile.n, tile]));
  const leafAt = new Map(leaves.map(({ index, leaf }) => [index, leaf]));
  const findings: LogFinding[] = [];
  for (let n = first; n < full; n++) {
    const hashes = Array.from({ length: TILE_WIDTH }, (_, at) => hashLeaf(leafAt.get(n * TILE_WIDTH + at) ?? ''));
    const tile = stored.get(n);
    const joined = Buffer.concat(hashes);
    if (tile?.hashes.equals(joined) !== true || !tile.root.equals(hashTile(joined))) {
      const at = hashes.findIndex((hash, place) => !isHashAt(tile?.hashes, place, hash));
      findings.push({ problem: 'tile_differs', index: n * TILE_WIDTH + Math.max(0, at) });
    }
  }
  return findings;
}

function isHashAt(hashes: Buffer | undefined, place: number, hash: Buffer): boolean {
  return hashes?.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES).equals(hash) === true;
}

/** Compares tiles above the leaves that end between `start` and `end` with the roots of the tiles below them. */
export async function checkUpperTiles(
  db: Kysely<Tables>,
  tenantId: string,
  start: number,
  end: number,
): Promise<LogFinding[]> {
  const findings: LogFinding[] = [];
  for (let level = 1, span = TILE_WIDTH ** 2; span <= end; level++, span *= TILE_WIDTH) {
    for (let n = Math.floor(start / span); (n + 1) * span <= end; n++) {
      const below = await tilesBelow(db, tenantId, level, n);
      const { rows } = await sql<{ hashes: Buffer; root: Buffer }>`
        select hashes, root from log_tiles where tenant_id = ${tenantId} and level = ${level} and n = ${n}`.execute(db);
      const [tile] = rows;
      if (tile?.hashes.equals(below) !== true || !tile.root.equals(hashTile(below)))
        findings.push({ problem: 'tile_differs', index: n * span });
    }
  }
  return findings;
}

async function tilesBelow(db: Kysely<Tables>, tenantId: string, level: number, n: number): Promise<Buffer> {
  const { rows } = await sql<{ root: Buffer }>`
    select root from log_tiles where tenant_id = ${tenantId} and level = ${level - 1}
      and n >= ${n * TILE_WIDTH} and n < ${(n + 1) * TILE_WIDTH} order by n`.execute(db);
  return Buffer.concat(rows.map(({ root }) => root));
}

/**
 * Compares every checkpoint of more than `start` and at most `end` entries with the leaves: its root, and what its note
 * says and who signed it. Names the first one that differs: those after it differ for the same reason.
 */
export async function checkCheckpoints(
  db: Kysely<Tables>,
  tenantId: string,
  start: number,
  end: number,
  leaves: readonly LeafAt[],
): Promise<LogFinding[]> {
  const { rows } = await sql<{ size: number; root: Buffer; note: string }>`
    select size, root, note from log_checkpoints
    where tenant_id = ${tenantId} and size > ${start} and size <= ${end} order by size`.execute(db);
  if (rows.length === 0) return [];
  const signing = await readSigning(db, tenantId);
  const before = await readFrontier(tilesFrom(db, tenantId), start);
  // A tile below is missing, which the parts before have found.
  if (before === undefined) return [];
  const frontier = new Frontier(start, before);
  let next = 0;
  for (const { size, root, note } of rows) {
    for (; next < leaves.length && frontier.size < size; next++) frontier.append(hashLeaf(leaves[next]?.leaf ?? ''));
    if (frontier.size !== size || !frontier.root().equals(root))
      return [{ problem: 'checkpoint_differs', index: size }];
    const isSigned = signing !== undefined && isSignedNote(note, { origin: originOf(note), size, root }, signing.key);
    if (!isSigned || !originOf(note).endsWith(`/log/${signing.logId}`))
      return [{ problem: 'signature_differs', index: size }];
  }
  return [];
}

function originOf(note: string): string {
  return note.slice(0, Math.max(0, note.indexOf('\n')));
}

async function readSigning(db: Kysely<Tables>, tenantId: string) {
  const { rows } = await sql<{ key: Buffer; logId: string }>`
    select k.public_key as key, h.log_id as "logId" from log_heads h, log_keys k
    where h.tenant_id = ${tenantId}`.execute(db);
  return rows[0];
}

/** Undefined if a tile is missing or too short. */
async function readFrontier(source: TileSource, size: number): Promise<Buffer[] | undefined> {
  try {
    return await new TreeReader(source, size).frontier();
  } catch (error) {
    if (isMissingTile(error)) return undefined;
    throw error;
  }
}

/** Compares the head with the leaves and the checkpoints. */
export async function checkEnds(
  db: Kysely<Tables>,
  tenantId: string,
  head: { readonly size: number; readonly frontier: Buffer; readonly broken: string | null } | undefined,
): Promise<LogFinding[]> {
  const findings: LogFinding[] = [];
  const size = head?.size ?? 0;
  const beyond = await sql<{ index: number; kind: string; entry_id: string }>`
    select index, kind, entry_id from log_leaves where tenant_id = ${tenantId} and index >= ${size}
    order by index limit 10`.execute(db);
  for (const { index, kind, entry_id: id } of beyond.rows) findings.push({ problem: 'head_differs', index, kind, id });
  if (head !== undefined) {
    const computed = await readFrontier(tilesFrom(db, tenantId), size);
    if (computed === undefined || !Buffer.concat(computed).equals(head.frontier))
      findings.push({ problem: 'head_differs', index: size });
  }
  const ahead = await sql<{ size: number }>`
    select size from log_checkpoints where tenant_id = ${tenantId} and size > ${size} order by size limit 1`.execute(
    db,
  );
  for (const checkpoint of ahead.rows) findings.push({ problem: 'checkpoint_ahead', index: checkpoint.size });
  if (head?.broken != null) findings.push({ problem: 'log_broken', index: size, reason: head.broken });
  return findings;
}
