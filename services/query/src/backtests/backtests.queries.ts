import { type Backtest, type BacktestExample, DAY_MS } from '@agentlens/contracts';
import { backtestFromRow } from '@agentlens/database';
import { BACKTESTS_LIST, type BacktestsFilter, type FindingsFilter } from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { TenantReads } from '../http/tenant-reads.ts';

@Injectable()
export class BacktestsQueries {
  constructor(private readonly reads: TenantReads) {}

  async list(tenantId: string, { limit, offset, cursor }: BacktestsFilter): Promise<Page<Backtest>> {
    const rows = await this.reads.read(tenantId, (db) => {
      const all = db.selectFrom('backtests').selectAll().where('tenant_id', '=', tenantId);
      const older =
        cursor === undefined
          ? all
          : all.where(sql<boolean>`(created_at, backtest_id) < (${cursor.at}::timestamptz, ${cursor.id})`);
      return older
        .orderBy('created_at', 'desc')
        .orderBy('backtest_id', 'desc')
        .limit(limit + 1)
        .offset(offset)
        .execute();
    });
    const placeOf = (row: (typeof rows)[number]) => ({ at: row.created_at, id: row.backtest_id });
    return pageOf(BACKTESTS_LIST, rows, limit, placeOf, backtestFromRow);
  }

  async get(tenantId: string, id: string): Promise<Backtest | undefined> {
    const row = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('backtests')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('backtest_id', '=', id)
        .executeTakeFirst(),
    );
    return row && backtestFromRow(row);
  }

  async findings(tenantId: string, id: string, { kind, outcome, day, limit, offset }: FindingsFilter) {
    const { rows, total } = await this.reads.read(tenantId, async (db) => {
      let found = db.selectFrom('backtest_findings').where('tenant_id', '=', tenantId).where('backtest_id', '=', id);
      if (kind !== undefined) found = found.where('kind', '=', kind);
      if (outcome !== undefined) found = found.where('outcome', '=', outcome);
      if (day !== undefined) {
        const nextDay = new Date(Date.parse(day) + DAY_MS).toISOString();
        found = found.where('at', '>=', `${day}T00:00:00.000Z`).where('at', '<', nextDay);
      }
      const counted = await found.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
      return {
        rows: await found.select('body').orderBy('n').limit(limit).offset(offset).execute(),
        total: counted.total,
      };
    });
    return { findings: rows.map(({ body }) => body as unknown as BacktestExample), total };
  }
}
