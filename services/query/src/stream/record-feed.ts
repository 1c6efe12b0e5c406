import { type News, RecordNews } from '@agentlens/database';
import { Repeating, type Subscription } from '@agentlens/messaging';
import { CLOCK, type Clock, LOGGER, type Platform } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { TenantReads } from '../http/tenant-reads.ts';

const EVERY_MS = 2_000;

type Listener = (news: News) => void;

/** One tenant's record, read as long as somebody listens. */
interface Watched {
  readonly news: RecordNews;
  readonly listeners: Set<Listener>;
  /** Streams that listen, or are about to. */
  holders: number;
  readonly repeating: Repeating;
  looking: Promise<void>;
}

/**
 * What is new in the record, for live streams. Nobody publishes it: it is read, by the code that webhooks use too, for the
 * tenants that somebody watches, once for all streams of a tenant.
 */
@Injectable()
export class RecordFeed {
  readonly #watched = new Map<string, Watched>();

  constructor(
    private readonly reads: TenantReads,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Platform['logger'],
  ) {}

  /** Resolves once nothing that is written from now on can be missed. @throws what Postgres says */
  async follow(tenantId: string, listener: Listener): Promise<Subscription> {
    const watched = this.#hold(tenantId);
    try {
      // What is there already is told to those who listened before.
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
        this.logger.warn({ err: error }, 'live streams could not be told of changes and budgets just now'),
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

  /** After the look before, whatever came of it. */
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
