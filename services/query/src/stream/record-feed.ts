import { type News, RecordNews } from '@agentlens/database';
import { Repeating, type Subscription } from '@agentlens/messaging';
import { type Clock, type Platform, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { TenantReads } from '../http/tenant-reads.ts';

const EVERY_MS = 2_000;

type Listener = (news: News) => void;

/** One tenant's record, which is read while a stream listens. */
interface Watched {
  readonly news: RecordNews;
  readonly listeners: Set<Listener>;
  /** Number of streams that listen or are about to. */
  holders: number;
  readonly repeating: Repeating;
  looking: Promise<void>;
}

/**
 * Feeds new audit entries and reached budgets to live streams. No service publishes them, so this polls them with the
 * code that webhooks use too: only for tenants with open streams, and once for all streams of a tenant.
 */
@Injectable()
export class RecordFeed {
  readonly #watched = new Map<string, Watched>();

  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
  ) {}

  /**
   * Resolves when the feed cannot miss new entries.
   * @throws the error of Postgres
   */
  async follow(tenantId: string, listener: Listener): Promise<Subscription> {
    const watched = this.#hold(tenantId);
    try {
      // Existing entries go only to the earlier listeners.
      await this.#look(tenantId, watched);
      watched.listeners.add(listener);
    } catch (error) {
      await this.#release(tenantId, watched);
      throw error;
    }
    return {
      close: async () => {
        if (watched.listeners.delete(listener)) await this.#release(tenantId, watched);
      },
    };
  }

  #hold(tenantId: string): Watched {
    const known = this.#watched.get(tenantId);
    if (known !== undefined) {
      known.holders += 1;
      return known;
    }
    const repeating = new Repeating(async () => {
      await this.#look(tenantId, watched).catch((error: unknown) =>
        this.logger.warn({ err: error }, 'reading changes and budgets for live streams failed, will retry'),
      );
      return EVERY_MS;
    });
    const news = new RecordNews(() => this.clock.now());
    const watched: Watched = { news, listeners: new Set(), holders: 1, repeating, looking: Promise.resolve() };
    this.#watched.set(tenantId, watched);
    repeating.start(EVERY_MS);
    return watched;
  }

  async #release(tenantId: string, watched: Watched): Promise<void> {
    watched.holders -= 1;
    if (watched.holders > 0) return;
    this.#watched.delete(tenantId);
    await watched.repeating.stop();
    await watched.looking;
  }

  /** Runs after the previous poll, even if that one failed. */
  #look(tenantId: string, watched: Watched): Promise<void> {
    const of = { changes: [tenantId], budgets: [tenantId] };
    const tell = (news: News) => {
      for (const listener of watched.listeners) listener(news);
    };
    const look = watched.looking.then(() => this.reads.read(tenantId, (db) => watched.news.look(db, of, tell)));
    watched.looking = look.catch(() => undefined);
    return look;
  }
}
