import { DAY_MS } from '@agentlens/contracts';
import { type News, type NewsOf, RecordNews, type Tables } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import { type Kysely, sql } from 'kysely';
import { queueWebhooks } from './webhook.queue.ts';
import { noticeOfBudget, noticeOfChange } from './webhook-notice.ts';

const EVERY_MS = 5_000;
const MOST_AT_ONCE = 500;

interface RecordWatchDependencies {
  readonly db: Kysely<Tables>;
  readonly now: () => number;
  /** Called after something was queued. */
  readonly onQueued: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Tells webhook endpoints of what other services write into the record: changes by people (`audit`), and budgets of which
 * most or all is spent (`budgets`). Only for tenants with an endpoint that listens; the queue leaves out the endpoints
 * that were made later.
 */
export class RecordWatch {
  readonly #parts: RecordWatchDependencies;
  readonly #news: RecordNews;
  readonly #looking = new Repeating(() => this.look().then(() => EVERY_MS));

  constructor(parts: RecordWatchDependencies) {
    this.#parts = parts;
    // After a start, of what this service may have missed while it was away: what is queued already is queued once.
    this.#news = new RecordNews(parts.now, DAY_MS);
  }

  start(): void {
    this.#looking.start(EVERY_MS);
  }

  stop(): Promise<void> {
    return this.#looking.stop();
  }

  /** Never rejects: the next look says the same again. */
  async look(): Promise<void> {
    const { db, onError } = this.#parts;
    try {
      await this.#news.look(db, await listening(db), (news, at) => this.#queue(news, at));
    } catch (error) {
      onError(error);
    }
  }

  async #queue({ changes, reached }: News, at: string): Promise<void> {
    const { db, onQueued } = this.#parts;
    const notices = [...changes.map(noticeOfChange), ...reached.map(noticeOfBudget)];
    for (let from = 0; from < notices.length; from += MOST_AT_ONCE) {
      const some = notices.slice(from, from + MOST_AT_ONCE);
      if ((await db.transaction().execute((tx) => queueWebhooks(tx, some, at))) > 0) onQueued();
    }
  }
}

/** Tenants with an endpoint that is enabled and listens. */
async function listening(db: Kysely<Tables>): Promise<NewsOf> {
  const { rows } = await sql<{ tenant: string; audit: boolean; budgets: boolean }>`
    select tenant_id as tenant, bool_or('audit' = any(events)) as audit, bool_or('budgets' = any(events)) as budgets
    from webhook_endpoints where enabled and events && array['audit', 'budgets'] group by tenant_id`.execute(db);
  return {
    changes: rows.filter(({ audit }) => audit).map(({ tenant }) => tenant),
    budgets: rows.filter(({ budgets }) => budgets).map(({ tenant }) => tenant),
  };
}
