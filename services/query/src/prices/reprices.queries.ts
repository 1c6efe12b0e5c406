import type { Reprice } from '@agentlens/contracts';
import { repriceFromRow } from '@agentlens/database';
import { Injectable } from '@nestjs/common';
import { TenantReads } from '../http/tenant-reads.ts';

const MAX_REPRICES = 100;

@Injectable()
export class RepricesQueries {
  constructor(private readonly reads: TenantReads) {}

  /** @param id returns only this reprice */
  async newest(tenantId: string, id?: string): Promise<readonly Reprice[]> {
    const rows = await this.reads.read(tenantId, (db) => {
      const query = db.selectFrom('reprices').selectAll().where('tenant_id', '=', tenantId);
      const narrowed = id === undefined ? query : query.where('reprice_id', '=', id);
      return narrowed.orderBy('started_at', 'desc').orderBy('reprice_id', 'desc').limit(MAX_REPRICES).execute();
    });
    return rows.map(repriceFromRow);
  }
}
