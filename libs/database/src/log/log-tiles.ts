import { hashLeaf, TILE_WIDTH, type TileSource } from '@agentlens/log';
import { type Kysely, sql } from 'kysely';
import type { Tables } from '../schema/tables.ts';

/** Serves the tiles of a tenant's log. Partial tiles are not stored; they are computed from what is below them. */
export function tilesFrom(db: Kysely<Tables>, tenantId: string): TileSource {
  return {
    readTile: async (level, n, width) => {
      if (width === TILE_WIDTH) {
        const { rows } = await sql<{ hashes: Buffer }>`
          select hashes from log_tiles where tenant_id = ${tenantId} and level = ${level} and n = ${n}`.execute(db);
        return rows[0]?.hashes ?? Buffer.alloc(0);
      }
      const from = n * TILE_WIDTH;
      const to = from + width;
      if (level === 0) {
        const { rows } = await sql<{ leaf: string }>`
          select leaf from log_leaves where tenant_id = ${tenantId} and index >= ${from} and index < ${to}
          order by index`.execute(db);
        return Buffer.concat(rows.map(({ leaf }) => hashLeaf(leaf)));
      }
      const { rows } = await sql<{ root: Buffer }>`
        select root from log_tiles
        where tenant_id = ${tenantId} and level = ${level - 1} and n >= ${from} and n < ${to} order by n`.execute(db);
      return Buffer.concat(rows.map(({ root }) => root));
    },
  };
}
