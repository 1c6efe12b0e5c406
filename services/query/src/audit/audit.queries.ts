import { auditEntryFromRow } from '@agentlens/database';
import { AUDIT_LIST, type AuditEntry, type AuditFilter, withEnds } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

@Injectable()
export class AuditQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async list(tenantId: string, filter: AuditFilter): Promise<Page<AuditEntry>> {
    const rows = await this.reads.read(tenantId, (db) => pageRows(db, tenantId, withEnds(filter, this.clock.now())));
    return pageOf(AUDIT_LIST, rows, filter.limit, ({ at, entry_id: id }) => ({ at, id }), auditEntryFromRow);
  }
}

function pageRows(db: ReadOnly, tenantId: string, filter: AuditFilter) {
  let query = db.selectFrom('audit_entries').selectAll().where('tenant_id', '=', tenantId);
  const { actor, kind, target, targetId, from, to, cursor } = filter;
  if (actor !== undefined) {
    query = query.where((eb) =>
      eb.or([eb('person', '=', actor), eb('key_id', '=', actor), eb('key_name', '=', actor)]),
    );
  }
  if (kind !== undefined) query = query.where('kind', 'in', kind);
  if (target !== undefined) query = query.where('target', 'in', target);
  if (targetId !== undefined) query = query.where('target_id', '=', targetId);
  if (from !== undefined) query = query.where('at', '>=', from);
  if (to !== undefined) query = query.where('at', '<=', to);
  if (cursor !== undefined) {
    query = query.where(sql<boolean>`(at, entry_id) < (${cursor.at}::timestamptz, ${cursor.id})`);
  }
  return query
    .orderBy('at', 'desc')
    .orderBy('entry_id', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}
