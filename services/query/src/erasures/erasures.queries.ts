import type { ErasuresTable } from '@agentlens/database';
import type { ErasureView } from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import type { Selectable } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';

const MOST = 100;

@Injectable()
export class ErasuresQueries {
  constructor(private readonly reads: TenantReads) {}

  /** @param id returns only this erasure */
  async newest(tenantId: string, id?: string): Promise<readonly ErasureView[]> {
    const rows = await this.reads.read(tenantId, (db) => {
      const query = db.selectFrom('erasures').selectAll().where('tenant_id', '=', tenantId);
      const narrowed = id === undefined ? query : query.where('erasure_id', '=', id);
      return narrowed.orderBy('requested_at', 'desc').orderBy('erasure_id', 'desc').limit(MOST).execute();
    });
    return rows.map(erasureFromRow);
  }
}

function erasureFromRow(row: Selectable<ErasuresTable>): ErasureView {
  return {
    id: row.erasure_id,
    ...(row.actor_id !== null && { actorId: row.actor_id }),
    actorDigest: row.actor_digest,
    state: row.state,
    requestedAt: row.requested_at,
    ...(row.finished_at !== null && { finishedAt: row.finished_at }),
    runs: row.runs,
    events: row.events,
  };
}
