import { BreakerLimits, BreakerState } from '@agentlens/contracts';
import type { CircuitBreakersTable } from '@agentlens/database';
import { BREAKERS_LIST, type BreakerFilter, type BreakerView } from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

/** Far more than an operator configures, and still cheap to read. */
const MAX_LIMITS = 1_000;
/** Hashed because run and agent ids may be as long as a whole cursor. Each scope and id has one breaker. */
const PLACE = sql<string>`md5(scope || ':' || scope_id)`;

type Row = Selectable<CircuitBreakersTable> & { readonly place: string };

@Injectable()
export class BreakersQueries {
  constructor(private readonly reads: TenantReads) {}

  async list(tenantId: string, filter: BreakerFilter): Promise<Page<BreakerView>> {
    const rows = await this.reads.read(tenantId, (db) => pageRows(db, tenantId, filter));
    return pageOf(BREAKERS_LIST, rows, filter.limit, (row) => ({ at: row.changed_at, id: row.place }), breakerFromRow);
  }

  async limits(tenantId: string) {
    const rows = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('breaker_limits')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('deleted_at', 'is', null)
        .orderBy('updated_at', 'desc')
        .limit(MAX_LIMITS)
        .execute(),
    );
    return rows.map((row) => ({
      scope: row.scope,
      scopeId: row.scope_id,
      limits: BreakerLimits.parse(row.limits),
      version: row.version,
      updatedAt: row.updated_at,
    }));
  }
}

function pageRows(db: ReadOnly, tenantId: string, filter: BreakerFilter): Promise<Row[]> {
  let query = db.selectFrom('circuit_breakers').selectAll().select(PLACE.as('place')).where('tenant_id', '=', tenantId);
  if (filter.scope !== undefined) query = query.where('scope', 'in', filter.scope);
  if (filter.agentId !== undefined) query = query.where('agent_id', '=', filter.agentId);
  if (filter.state !== undefined) query = query.where(sql<string>`state ->> 'kind'`, 'in', filter.state);
  if (filter.cursor !== undefined) {
    const place = sql`(${filter.cursor.at}::timestamptz, ${filter.cursor.id})`;
    query = query.where(sql<boolean>`(changed_at, ${PLACE}) < ${place}`);
  }
  return query
    .orderBy('changed_at', 'desc')
    .orderBy(PLACE, 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}

export function breakerFromRow(row: Selectable<CircuitBreakersTable>): BreakerView {
  return {
    scope: row.scope,
    scopeId: row.scope_id,
    agentId: row.agent_id,
    state: BreakerState.parse(row.state),
    version: row.version,
    changedAt: row.changed_at,
  };
}
