import { DAY_MS } from '@agentlens/contracts';
import { inHalves, type News, type NewsOf, RecordNews, refusalText, type Tables } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import { LoopProgress, type Platform } from '@agentlens/platform';
import { type Kysely, sql } from 'kysely';
import { queueWebhooks } from './webhook.queue.ts';
import { noticeOfBudget, noticeOfChange } from './webhook-notice.ts';

const EVERY_MS = 5_000;
const MAX_PER_STATEMENT = 500;

interface RecordWatchDependencies {
  readonly db: Kysely<Tables>;
  readonly now: () => number;
  /** Called after something was queued. */
  readonly onQueued: () => void;
  readonly onError: (error: unknown) => void;
  readonly logger: Pick<Platform['logger'], 'error'>;
  readonly progress?: LoopProgress;
}

/**
 * Notifies webhook endpoints about rows that other services write: changes by people (`audit`) and budgets that are
 * mostly or fully spent (`budgets`). Reads only tenants with a listening endpoint; the queue skips endpoints that were
 * created later.
 */
export class RecordWatch {
  readonly #dependencies: RecordWatchDependencies;
  readonly #news: RecordNews;
  readonly #ownProgress = new LoopProgress();
  readonly #looking = new Repeating(() => this.look().then(() => EVERY_MS));

  constructor(dependencies: RecordWatchDependencies) {
    this.#dependencies = dependencies;
    // Covers the time since the last run of this service; duplicates are ignored by the queue.
    this.#news = new RecordNews(dependencies.now, DAY_MS);
  }

  start(): void {
    this.#looking.start(EVERY_MS);
  }

  stop(): Promise<void> {
    return this.#looking.stop();
  }

  /** Never rejects: the next look retries. */
  async look(): Promise<void> {
    const { db, onError, progress = this.#ownProgress } = this.#dependencies;
    try {
      await progress.attempt(async () => this.#news.look(db, await listening(db), (news, at) => this.#queue(news, at)));
    } catch (error) {
      onError(error);
    }
  }

  async #queue({ changes, reached }: News, at: string): Promise<void> {
    const { db, logger, onQueued } = this.#dependencies;
    const notices = [...changes.map(noticeOfChange), ...reached.map(noticeOfBudget)];
    for (let from = 0; from < notices.length; from += MAX_PER_STATEMENT) {
      const some = notices.slice(from, from + MAX_PER_STATEMENT);
      await inHalves(
        some,
        async (part) => {
          if ((await db.transaction().execute((tx) => queueWebhooks(tx, part, at))) > 0) onQueued();
          return part.map(() => undefined);
        },
        ({ tenantId }, error) => {
          logger.error({ tenantId, reason: refusalText(error) }, 'dropped a webhook notice that cannot be stored');
        },
      );
    }
  }
}

/** Tenants with an enabled endpoint that listens. */
async function listening(db: Kysely<Tables>): Promise<NewsOf> {
  const { rows } = await sql<{ tenant: string; audit: boolean; budgets: boolean }>`
    select tenant_id as tenant, bool_or('audit' = any(events)) as audit, bool_or('budgets' = any(events)) as budgets
    from webhook_endpoints where enabled and events && array['audit', 'budgets'] group by tenant_id`.execute(db);
  return {
    changes: rows.filter(({ audit }) => audit).map(({ tenant }) => tenant),
    budgets: rows.filter(({ budgets }) => budgets).map(({ tenant }) => tenant),
  };
}
