import { BUDGET_PERIODS, MINUTE_MS, periodStart } from '@agentlens/contracts';
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
 * most or all is spent (`budgets`). Only for tenants with an endpoint that listens, and of no change from before the first of
 * these was made; a budget is told as it stands.
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
  const starts = BUDGET_PERIODS.map((period) => ({ period, start: periodStart(period, nowMs) }));
  const { rows } = await sql<Selectable<BudgetsTable> & { pot: string; start: string; spent: number }>`
    select b.*, pots.pot, pots.start, pots.spent
    from budgets b join ${listening('budgets')} as w using (tenant_id)
      join jsonb_to_recordset(${JSON.stringify(starts)}::jsonb) as p(period text, start text) using (period)
      cross join lateral (
        select l.scope_id as pot, p.start as start, sum(l.cost_usd)::float8 as spent from budget_ledger l
        where l.tenant_id = b.tenant_id and l.budget_id = b.budget_id and l.period_start = p.start::date
        group by l.scope_id having sum(l.cost_usd) >= ${SHARES[0]} * b.limit_usd
      ) as pots
    where b.enabled and b.deleted_at is null`.execute(db);
  const at = new Date(nowMs).toISOString();
  return rows.map((row) => {
    const budget = budgetFromRow(row);
    const { pot: scopeId, start, spent: spentUsd } = row;
    const share = spentUsd >= budget.limitUsd ? SHARES[1] : SHARES[0];
    return noticeOfBudget({ budget, scopeId, periodStart: start, spentUsd, share, at });
  });
}
