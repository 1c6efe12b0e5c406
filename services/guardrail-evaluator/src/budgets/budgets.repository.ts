import { type Budget, type BudgetPatch, type ChangeAuthor, periodStart } from '@agentlens/contracts';
import {
  budgetFromRow,
  type Database,
  type DataError,
  inHalves,
  recordChanges,
  type Tables,
} from '@agentlens/database';
import type { LedgerEntry, SeededAccount } from '@agentlens/guardrails';
import type { SettingsReader } from '@agentlens/platform';
import type { Kysely, Transaction } from 'kysely';
import { announceSettings } from '../settings/announce-settings.ts';
import { keptMsOf, ofTree } from './accounts.ts';

interface BudgetChange {
  readonly patch: BudgetPatch;
  /** Change the budget only if it is at this version. */
  readonly ifVersion?: number | undefined;
  readonly at: string;
  readonly author?: ChangeAuthor | undefined;
}

interface OtherVersion {
  readonly kind: 'other_version';
  readonly version: number;
}

type UpdatedBudget = { readonly kind: 'updated'; readonly budget: Budget } | OtherVersion;

/** The tables `budgets` and `budget_ledger`. This service is their only writer. Deleted budgets are kept and marked. */
export class BudgetsRepository {
  readonly #db: Kysely<Tables>;
  readonly #pool: Database['pool'];

  readonly #onRefused: (tenantId: string, entry: LedgerEntry, error: DataError) => void;

  /** @param onRefused called with each entry that the ledger cannot store */
  constructor(
    { db, pool }: Pick<Database, 'db' | 'pool'>,
    onRefused: (tenantId: string, entry: LedgerEntry, error: DataError) => void,
  ) {
    this.#db = db;
    this.#pool = pool;
    this.#onRefused = onRefused;
  }

  readonly budgets: SettingsReader<readonly Budget[]> = {
    all: () => this.#budgetsOf(),
    ofTenant: async (tenantId) => (await this.#budgetsOf(tenantId)).get(tenantId),
    changedSince: async (instant) => {
      const rows = await this.#db
        .selectFrom('budgets')
        .select('tenant_id')
        .distinct()
        .where('updated_at', '>=', instant)
        .execute();
      return rows.map((row) => row.tenant_id);
    },
  };

  async insert(budget: Budget, author?: ChangeAuthor): Promise<void> {
    await this.#db.transaction().execute(async (transaction) => {
      await transaction.insertInto('budgets').values(rowOf(budget)).execute();
      const { tenantId, id: targetId, createdAt: at } = budget;
      await recordChanges(transaction, [{ tenantId, at, kind: 'budget.created', targetId, author, after: budget }]);
      await announceSettings(transaction, tenantId, at);
    });
  }

  /** Returns null if the budget does not exist. Concurrent updates are serialised. */
  async update(
    tenantId: string,
    budgetId: string,
    { patch, ifVersion, at, author }: BudgetChange,
  ): Promise<UpdatedBudget | null> {
    return this.#db.transaction().execute(async (transaction) => {
      const row = await lockBudget(transaction, tenantId, budgetId);
      if (row === undefined) return null;
      const before = budgetFromRow(row);
      if (ifVersion !== undefined && ifVersion !== before.version) {
        return { kind: 'other_version', version: before.version } as const;
      }
      const budget: Budget = { ...before, ...patch, version: before.version + 1, updatedAt: at };
      await transaction
        .updateTable('budgets')
        .set(rowOf(budget))
        .where('tenant_id', '=', tenantId)
        .where('budget_id', '=', budgetId)
        .execute();
      const change = {
        tenantId,
        at,
        kind: 'budget.changed',
        targetId: budgetId,
        author,
        before,
        after: budget,
      } as const;
      await recordChanges(transaction, [change]);
      await announceSettings(transaction, tenantId, at);
      return { kind: 'updated', budget } as const;
    });
  }

  /** Returns null if the budget does not exist. */
  async markDeleted(
    tenantId: string,
    budgetId: string,
    { ifVersion, at, author }: Omit<BudgetChange, 'patch'>,
  ): Promise<'deleted' | OtherVersion | null> {
    return this.#db.transaction().execute(async (transaction) => {
      const row = await lockBudget(transaction, tenantId, budgetId);
      if (row === undefined) return null;
      if (ifVersion !== undefined && ifVersion !== row.version) return { kind: 'other_version', version: row.version };
      await transaction
        .updateTable('budgets')
        .set({ deleted_at: at, updated_at: at, version: row.version + 1 })
        .where('tenant_id', '=', tenantId)
        .where('budget_id', '=', budgetId)
        .execute();
      const before = budgetFromRow(row);
      await recordChanges(transaction, [{ tenantId, at, kind: 'budget.deleted', targetId: budgetId, author, before }]);
      await announceSettings(transaction, tenantId, at);
      return 'deleted';
    });
  }

  /** Skips entries that another instance recorded, or that were recorded before a crash. */
  async record(tenantId: string, entries: readonly LedgerEntry[]): Promise<void> {
    await inHalves(
      entries,
      async (some) => {
        await this.#insert(tenantId, some);
        return some.map(() => undefined);
      },
      (entry, error) => this.#onRefused(tenantId, entry, error),
    );
  }

  async #insert(tenantId: string, entries: readonly LedgerEntry[]): Promise<void> {
    await this.#pool.query({
      name: 'record-budget-ledger',
      text: `
        insert into budget_ledger
          (tenant_id, budget_id, scope_id, period_start, reservation_id, estimate_usd, cost_usd, settled_at, unpriced)
        select $1, "budgetId", "scopeId", "periodStart", "reservationId", "estimateUsd", "costUsd", "settledAt",
          coalesce(unpriced, false)
        from jsonb_to_recordset($2::jsonb) as entry ("budgetId" text, "scopeId" text, "periodStart" date,
          "reservationId" text, "estimateUsd" numeric, "costUsd" numeric, "settledAt" timestamptz, unpriced boolean)
        on conflict do nothing`,
      values: [
        tenantId,
        JSON.stringify(entries.map((one) => ({ ...one, settledAt: new Date(one.settledAtMs).toISOString() }))),
      ],
    });
  }

  /** The amounts spent from all accounts whose period has not ended. */
  async spent(tenantId: string, nowMs: number): Promise<SeededAccount[]> {
    const rows = await this.#db
      .selectFrom('budget_ledger as ledger')
      .innerJoin('budgets as budget', (join) =>
        join
          .onRef('budget.tenant_id', '=', 'ledger.tenant_id')
          .onRef('budget.budget_id', '=', 'ledger.budget_id')
          .on('budget.deleted_at', 'is', null),
      )
      .select((eb) => [
        'ledger.budget_id',
        'ledger.scope_id',
        'ledger.period_start',
        'budget.period',
        'budget.scope',
        eb.fn.sum<number>('ledger.cost_usd').as('spent'),
        eb.fn.sum<number>('ledger.cost_usd').filterWhere('ledger.unpriced', '=', true).as('guessed'),
        eb.fn.countAll<number>().filterWhere('ledger.unpriced', '=', true).as('unpriced'),
      ])
      .where('ledger.tenant_id', '=', tenantId)
      .where((eb) =>
        eb.or(
          (['total', 'day', 'week', 'month'] as const).map((period) =>
            eb.and([eb('budget.period', '=', period), eb('ledger.period_start', '>=', periodStart(period, nowMs))]),
          ),
        ),
      )
      .groupBy(['ledger.budget_id', 'ledger.scope_id', 'ledger.period_start', 'budget.period', 'budget.scope'])
      .execute();
    return rows.map((row) => ({
      budgetId: row.budget_id,
      scopeId: row.scope_id,
      periodStart: row.period_start,
      keptMs: keptMsOf(row.period),
      ...ofTree(row),
      spentUsd: Number(row.spent),
      unpricedCalls: Number(row.unpriced),
      estimatedUsd: Number(row.guessed ?? 0),
    }));
  }

  /** Returns null if the budget does not exist. */
  async find(tenantId: string, budgetId: string): Promise<Budget | null> {
    const row = await this.#db
      .selectFrom('budgets')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('budget_id', '=', budgetId)
      .where('deleted_at', 'is', null)
      .executeTakeFirst();
    return row === undefined ? null : budgetFromRow(row);
  }

  /**
   * The scope ids that have spent most in a period, according to the ledger. Trees that became part of others are left
   * out: their entries are balanced.
   */
  async spenders(
    { tenantId, id, scope }: Pick<Budget, 'tenantId' | 'id' | 'scope'>,
    periodStart: string,
    limit: number,
  ): Promise<string[]> {
    let query = this.#db
      .selectFrom('budget_ledger')
      .select('scope_id')
      .where('tenant_id', '=', tenantId)
      .where('budget_id', '=', id)
      .where('period_start', '=', periodStart)
      .groupBy('scope_id');
    if (scope === 'tree') query = query.having((eb) => eb.fn.sum('cost_usd'), '>', 0);
    const rows = await query
      .orderBy((eb) => eb.fn.sum('cost_usd'), 'desc')
      .orderBy('scope_id')
      .limit(limit)
      .execute();
    return rows.map((row) => row.scope_id);
  }

  async #budgetsOf(tenantId?: string): Promise<ReadonlyMap<string, readonly Budget[]>> {
    let query = this.#db.selectFrom('budgets').selectAll().where('deleted_at', 'is', null);
    if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId);
    return Map.groupBy((await query.execute()).map(budgetFromRow), (budget) => budget.tenantId);
  }
}

/** Locks a budget until the transaction ends; undefined if it does not exist or was deleted. */
function lockBudget(transaction: Transaction<Tables>, tenantId: string, budgetId: string) {
  return transaction
    .selectFrom('budgets')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('budget_id', '=', budgetId)
    .where('deleted_at', 'is', null)
    .forUpdate()
    .executeTakeFirst();
}

function rowOf(budget: Budget) {
  return {
    tenant_id: budget.tenantId,
    budget_id: budget.id,
    name: budget.name,
    scope: budget.scope,
    scope_id: budget.scopeId ?? null,
    period: budget.period,
    limit_usd: budget.limitUsd,
    enabled: budget.enabled,
    on_unavailable: budget.onUnavailable,
    on_unpriced: budget.onUnpriced,
    free_calls: budget.freeCalls,
    version: budget.version,
    created_at: budget.createdAt,
    updated_at: budget.updatedAt,
    deleted_at: null,
  };
}
