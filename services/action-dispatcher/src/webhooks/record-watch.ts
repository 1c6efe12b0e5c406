import { type Budget, type BudgetReached, MINUTE_MS } from '@agentlens/contracts';
import { auditEntryFromRow, type BudgetsTable, budgetFromRow, type Tables } from '@agentlens/database';
import { type Kysely, type Selectable, sql } from 'kysely';
import { queueWebhooks } from './webhook.queue.ts';
import { noticeOfBudget, noticeOfChange, type WebhookNotice } from './webhook-notice.ts';

const EVERY_MS = 5_000;
/** A row is committed after the time it carries; what was told before is told once all the same. */
const OVERLAP_MS = 2 * MINUTE_MS;
/** After a start, of what this service may have missed while it was away. */
const MISSED_MS = 24 * 60 * MINUTE_MS;
const MOST_AT_ONCE = 500;
/** Shares of a budget that are worth a message. */
const SHARES = [0.8, 1] as const;

interface RecordWatchDependencies {
  readonly db: Kysely<Tables>;
  readonly now: () => number;
  /** Called after something was queued. */
  readonly onQueued: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Tells webhook endpoints of what other services write into the record: changes by people (`audit`), and budgets of which
 * most or all is spent (`budgets`). Only for tenants with an endpoint that listens, and of nothing from before it was made.
 */
export class RecordWatch {
  readonly #parts: RecordWatchDependencies;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #lookedAtMs: number | undefined;

  constructor(parts: RecordWatchDependencies) {
    this.#parts = parts;
  }

  start(everyMs = EVERY_MS): void {
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.look());
    }, everyMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  /** Never rejects: the next look says the same again, and what is queued already is queued once. */
  async look(): Promise<void> {
    const { db, now, onQueued, onError } = this.#parts;
    const nowMs = now();
    const since = this.#lookedAtMs === undefined ? nowMs - MISSED_MS : this.#lookedAtMs - OVERLAP_MS;
    try {
      const notices = [...(await changes(db, new Date(since).toISOString())), ...(await reached(db, nowMs))];
      const at = new Date(nowMs).toISOString();
      for (let from = 0; from < notices.length; from += MOST_AT_ONCE) {
        const some = notices.slice(from, from + MOST_AT_ONCE);
        if ((await db.transaction().execute((tx) => queueWebhooks(tx, some, at))) > 0) onQueued();
      }
      this.#lookedAtMs = nowMs;
    } catch (error) {
      onError(error);
    }
  }
}

/** Endpoints that are enabled and listen to this, and since when there is one. */
const listening = (event: string) => sql`(
  select tenant_id, min(created_at) as since from webhook_endpoints
  where enabled and ${event} = any(events) group by tenant_id
)`;

async function changes(db: Kysely<Tables>, since: string): Promise<WebhookNotice[]> {
  const { rows } = await sql<Selectable<Tables['audit_entries']>>`
    select a.* from audit_entries a join ${listening('audit')} as w using (tenant_id)
    where a.at >= ${since}::timestamptz and a.at >= w.since
    order by a.at, a.entry_id`.execute(db);
  return rows.map((row) => noticeOfChange(auditEntryFromRow(row)));
}

/** By what is in the ledger: what was spent a second ago is in the next look. */
async function reached(db: Kysely<Tables>, nowMs: number): Promise<WebhookNotice[]> {
  const today = new Date(nowMs).toISOString();
  const { rows } = await sql<Selectable<BudgetsTable> & { pot: string; start: string; spent: number }>`
    with running as (
      select b.*, case b.period when 'total' then date '1970-01-01'
        else date_trunc(b.period, ${today}::timestamptz at time zone 'UTC')::date end as start
      from budgets b join ${listening('budgets')} as w using (tenant_id)
      where b.enabled and b.deleted_at is null
    )
    select running.*, l.scope_id as pot, running.start::text as start, sum(l.cost_usd)::float8 as spent
    from running join budget_ledger l
      on l.tenant_id = running.tenant_id and l.budget_id = running.budget_id and l.period_start = running.start
    group by running.tenant_id, running.budget_id, running.name, running.scope, running.scope_id, running.period,
      running.limit_usd, running.enabled, running.on_unavailable, running.version, running.created_at,
      running.updated_at, running.deleted_at, running.start, l.scope_id
    having sum(l.cost_usd) >= ${SHARES[0]} * running.limit_usd`.execute(db);
  return rows.flatMap((row) => {
    const budget: Budget = budgetFromRow(row);
    const share = row.spent >= budget.limitUsd ? SHARES[1] : SHARES[0];
    const pot: Pick<BudgetReached, 'scopeId' | 'periodStart'> = { scopeId: row.pot, periodStart: row.start };
    return [noticeOfBudget({ budget, ...pot, spentUsd: row.spent, share, at: today })];
  });
}
